"""LiteLLM: a loop over its completion function, with a model of Anthropic, streamed."""

import json
import os

import litellm


def weather(city: str) -> str:
    """Returns the weather in a city."""
    return f"{len(city)} degrees, light rain"


SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOLS = [{"type": "function", "function": {
    "name": "weather", "description": weather.__doc__, "parameters": SCHEMA}}]
messages = [{"role": "user", "content": os.environ["PROMPT"]}]
while True:
    chunks = list(litellm.completion("anthropic/claude-sonnet-4-5", messages, tools=TOOLS, stream=True))
    message = litellm.stream_chunk_builder(chunks).choices[0].message
    messages.append(message.model_dump())
    if not message.tool_calls:
        break
    for call in message.tool_calls:
        result = weather(**json.loads(call.function.arguments))
        print(call.function.arguments, result)
        messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
print(message.content)
