"""Haystack: an agent over OpenAI chat completions, streamed into a callback."""

import os
from typing import Annotated

from haystack.components.agents import Agent
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.dataclasses import ChatMessage
from haystack.tools import tool


@tool
def weather(city: Annotated[str, "The name of the city"]) -> str:
    """Returns the weather in a city."""
    return f"{len(city)} degrees, light rain"


agent = Agent(chat_generator=OpenAIChatGenerator(model="gpt-4o"), tools=[weather],
              system_prompt="You report the weather.",
              streaming_callback=lambda chunk: print(repr(chunk.content)))
answer = agent.run(messages=[ChatMessage.from_user(os.environ["PROMPT"])])
print(answer["messages"][-1].text)
