"""LangChain: an agent over OpenAI chat completions, streamed token by token."""

import os

from langchain.agents import create_agent
from langchain_core.tools import tool


@tool
def weather(city: str) -> str:
    """Returns the weather in a city."""
    return f"{len(city)} degrees, light rain"


agent = create_agent("openai:gpt-4o", [weather], system_prompt="You report the weather.")
question = {"messages": [{"role": "user", "content": os.environ["PROMPT"]}]}
for message, _ in agent.stream(question, stream_mode="messages"):
    print(repr(message.content))
