"""smolagents: an agent that calls tools."""

import os

from smolagents import OpenAIServerModel, ToolCallingAgent, tool


@tool
def weather(city: str) -> str:
    """Returns the weather in a city.

    Args:
        city: The name of the city.
    """
    return f"{len(city)} degrees, light rain"


agent = ToolCallingAgent(tools=[weather], model=OpenAIServerModel("gpt-4o"), verbosity_level=0)
print(agent.run(os.environ["PROMPT"]))
