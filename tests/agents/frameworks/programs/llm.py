"""llm: a chain of answers and tool calls, streamed as it does by default."""

import os

import llm


def weather(city: str) -> str:
    """Returns the weather in a city."""
    return f"{len(city)} degrees, light rain"


for text in llm.get_model("gpt-4o").chain(os.environ["PROMPT"], tools=[weather]):
    print(repr(text))
