"""Anthropic's messages by anthropic-python."""

from anthropic import Anthropic
from turns import SCHEMA, dumped, meaning, run

client = Anthropic(max_retries=0)
TOOL = {"name": "get_weather", "input_schema": SCHEMA}


def ask(turn):
    question = {"model": "claude-haiku-4-5", "max_tokens": 99, "messages": turn.messages,
                "extra_headers": turn.headers}
    if turn.tools:
        question["tools"] = [TOOL]
    if turn.streamed:
        with client.messages.stream(**question) as stream:
            events = [event for event in stream]
            answer = stream.get_final_message()
    else:
        answer = client.messages.create(**question)
        events = [answer]
    text = "".join(block.text for block in answer.content if block.type == "text")
    calls = [(b.id, b.name, b.input) for b in answer.content if b.type == "tool_use"]
    usage = [answer.usage.input_tokens, answer.usage.output_tokens]
    return meaning(text, answer.stop_reason, usage, calls, answer.model), dumped(events)


run(ask)
