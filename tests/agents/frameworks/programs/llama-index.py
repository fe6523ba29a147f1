"""LlamaIndex: a function agent over OpenAI chat completions, streamed as it does by default."""

import asyncio
import os

from llama_index.core.agent.workflow import AgentStream, FunctionAgent
from llama_index.llms.openai import OpenAI


def weather(city: str) -> str:
    """Returns the weather in a city."""
    return f"{len(city)} degrees, light rain"


async def main() -> None:
    agent = FunctionAgent(tools=[weather], llm=OpenAI(model="gpt-4o"),
                          system_prompt="You report the weather.")
    run = agent.run(os.environ["PROMPT"])
    async for event in run.stream_events():
        if isinstance(event, AgentStream):
            print(repr(event.delta))
    print(await run)


asyncio.run(main())
