"""Anthropic's messages: complete, streamed (as events and as bytes), and with a tool."""

from anthropic import Anthropic
from show import drained, emit, headers, raw

TOOL = {"name": "get_weather", "description": "The weather of a city",
        "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}}}
client = Anthropic()


def question(prompt, **more):
    return {"model": "claude-haiku-4-5", "max_tokens": 200, "system": "Be brief.",
            "messages": [{"role": "user", "content": prompt}], **more}


complete = client.messages.with_raw_response.create(**question("hello claude"))
streamed = drained(client.messages.create(**question("stream me a claude"), stream=True))
with client.messages.with_streaming_response.create(**question("stream me a claude"), stream=True) as response:
    content = b"".join(response.iter_bytes())
with client.messages.stream(**question("weather please, streamed", tools=[TOOL])) as stream:
    called = stream.get_final_message()
use = next(block for block in called.content if block.type == "tool_use")
turns = [{"role": "user", "content": "weather please, streamed"},
         {"role": "assistant", "content": [block.model_dump(mode="json", include={"type", "text", "id", "name", "input"})
                                           for block in called.content]},
         {"role": "user", "content": [{"type": "tool_result", "tool_use_id": use.id, "content": "18 °C"}]}]
answered = client.messages.create(**{**question("", tools=[TOOL]), "messages": turns})
emit({"object": complete.parse().model_dump(mode="json"), "bytes": raw(complete.read()),
      "headers": headers(complete), **streamed, "stream_bytes": raw(content),
      "called": called.model_dump(mode="json"), "answered": answered.model_dump(mode="json")})
