"""CrewAI: a crew of one agent with one task."""

import os

from crewai import Agent, Crew, Task
from crewai.tools import tool


@tool("weather")
def weather(city: str) -> str:
    """Returns the weather in a city."""
    return f"{len(city)} degrees, light rain"


reporter = Agent(role="Reporter", goal="Report the weather", backstory="You are precise.",
                 tools=[weather], llm="gpt-4o")
task = Task(description=os.environ["PROMPT"], expected_output="One sentence.", agent=reporter)
print(Crew(agents=[reporter], tasks=[task]).kickoff())
