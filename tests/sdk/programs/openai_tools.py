"""An agent's loop: the model calls tools, the program answers, the model speaks.
Once with complete answers and once streamed."""

import sys

from openai import OpenAI
from show import emit

TOOLS = [{"type": "function", "function": {
    "name": "get_weather", "description": "The weather of a city",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}, "unit": {"type": "string"}},
                   "required": ["city"]}}}]
client = OpenAI()


def ask(messages, streamed):
    question = {"model": "gpt-4o-mini", "messages": messages, "tools": TOOLS}
    if not streamed:
        return client.chat.completions.create(**question).choices[0].message
    with client.chat.completions.stream(**question) as stream:
        return stream.get_final_completion().choices[0].message


def loop(streamed):
    messages = [{"role": "user", "content": f"weather please, {'streamed' if streamed else 'at once'}"}]
    said = []
    for _ in range(3):
        message = ask(messages, streamed)
        said.append(message.model_dump(mode="json"))
        if not message.tool_calls:
            return said
        messages.append({"role": "assistant", "content": message.content, "tool_calls": [
            {"id": c.id, "type": "function", "function": {"name": c.function.name, "arguments": c.function.arguments}}
            for c in message.tool_calls]})
        messages += [{"role": "tool", "tool_call_id": c.id, "content": f"weather for {c.function.arguments}"}
                     for c in message.tool_calls]
    sys.exit("the model never stopped calling tools")


emit({"complete": loop(False), "streamed": loop(True)})
