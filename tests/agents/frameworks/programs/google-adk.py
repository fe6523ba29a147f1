"""Google ADK: an agent over Gemini, in a session in memory."""

import asyncio
import os

from google.adk.agents import Agent
from google.adk.runners import InMemoryRunner
from google.genai import types


def weather(city: str) -> str:
    """Returns the weather in a city."""
    return f"{len(city)} degrees, light rain"


async def main() -> None:
    agent = Agent(name="reporter", model="gemini-2.5-flash", tools=[weather],
                  instruction="You report the weather.")
    runner = InMemoryRunner(agent, app_name="weather")
    session = await runner.session_service.create_session(app_name="weather", user_id="u")
    question = types.UserContent(os.environ["PROMPT"])
    async for event in runner.run_async(user_id="u", session_id=session.id, new_message=question):
        for part in event.content.parts:
            print(part.function_call and part.function_call.args, repr(part.text))


asyncio.run(main())
