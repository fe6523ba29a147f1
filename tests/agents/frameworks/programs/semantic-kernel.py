"""Semantic Kernel: an agent with a plugin, streamed."""

import asyncio
import os

from semantic_kernel.agents import ChatCompletionAgent
from semantic_kernel.connectors.ai.open_ai import OpenAIChatCompletion
from semantic_kernel.functions import kernel_function


class Weather:
    """The plugin."""

    @kernel_function(description="Returns the weather in a city.")
    def weather(self, city: str) -> str:
        return f"{len(city)} degrees, light rain"


async def main() -> None:
    agent = ChatCompletionAgent(service=OpenAIChatCompletion(ai_model_id="gpt-4o"), name="Reporter",
                                instructions="You report the weather.", plugins=[Weather()])
    async for answer in agent.invoke_stream(messages=os.environ["PROMPT"]):
        print(repr(str(answer.content)))


asyncio.run(main())
