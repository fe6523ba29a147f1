"""Pydantic AI: an agent over Anthropic Messages, its answer streamed."""

import asyncio
import os

from pydantic_ai import Agent

agent = Agent("anthropic:claude-sonnet-4-5", instructions="You report the weather.")


@agent.tool_plain
def weather(city: str) -> str:
    """Returns the weather in a city."""
    return f"{len(city)} degrees, light rain"


async def main() -> None:
    async with agent.run_stream(os.environ["PROMPT"]) as run:
        async for text in run.stream_text(delta=True, debounce_by=None):
            print(repr(text))


asyncio.run(main())
