"""OpenAI Agents SDK: an agent over OpenAI Responses, streamed."""

import asyncio
import os

from agents import Agent, Runner, function_tool


@function_tool
def weather(city: str) -> str:
    """Returns the weather in a city."""
    return f"{len(city)} degrees, light rain"


async def main() -> None:
    agent = Agent("Reporter", instructions="You report the weather.", tools=[weather], model="gpt-4o")
    run = Runner.run_streamed(agent, os.environ["PROMPT"])
    async for event in run.stream_events():
        if event.type == "raw_response_event" and event.data.type.endswith(".delta"):
            print(repr(event.data.delta))
    print(run.final_output)


asyncio.run(main())
