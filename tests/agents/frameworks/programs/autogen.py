"""AutoGen: an assistant agent that reflects on the results of its tools."""

import asyncio
import os

from autogen_agentchat.agents import AssistantAgent
from autogen_ext.models.openai import OpenAIChatCompletionClient


async def weather(city: str) -> str:
    """Returns the weather in a city."""
    return f"{len(city)} degrees, light rain"


async def main() -> None:
    model = OpenAIChatCompletionClient(model="gpt-4o")
    agent = AssistantAgent("reporter", model, tools=[weather], max_tool_iterations=5,
                           reflect_on_tool_use=True, model_client_stream=True)
    async for message in agent.run_stream(task=os.environ["PROMPT"]):
        print(type(message).__name__, repr(getattr(message, "content", "")))
    await model.close()


asyncio.run(main())
