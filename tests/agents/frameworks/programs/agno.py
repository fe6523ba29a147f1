"""Agno: an agent over OpenAI chat completions, streamed."""

import os

from agno.agent import Agent
from agno.models.openai import OpenAIChat


def weather(city: str) -> str:
    """Returns the weather in a city."""
    return f"{len(city)} degrees, light rain"


agent = Agent(model=OpenAIChat(id="gpt-4o"), tools=[weather], telemetry=False)
for event in agent.run(os.environ["PROMPT"], stream=True):
    print(repr(event.content))
