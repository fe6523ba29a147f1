"""Strands Agents: an agent over Anthropic Messages, streamed as it does by default."""

import os

from strands import Agent, tool
from strands.models.anthropic import AnthropicModel


@tool
def weather(city: str) -> str:
    """Returns the weather in a city."""
    return f"{len(city)} degrees, light rain"


model = AnthropicModel(model_id="claude-sonnet-4-5", max_tokens=1000)
Agent(model=model, tools=[weather])(os.environ["PROMPT"])
print()
