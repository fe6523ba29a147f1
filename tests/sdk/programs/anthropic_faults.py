"""What anthropic-python does when it meets a fault: see faults.py."""

from anthropic import Anthropic, DefaultHttpxClient
from faults import prompt, run, said
from turns import SCHEMA

TOOL = {"name": "get_weather", "input_schema": SCHEMA}


def client(timeout):
    # Loading the machine's certificates for each client would take longer than most faults.
    anthropic = Anthropic(timeout=timeout, http_client=DefaultHttpxClient(verify=False))

    def ask(way, headers):
        question = {"model": "claude-haiku-4-5", "max_tokens": 99, "extra_headers": headers,
                    "messages": [{"role": "user", "content": prompt(way)}]}
        if way.startswith("tool"):
            question["tools"] = [TOOL]
        if not way.endswith("streamed"):
            answer = anthropic.messages.create(**question)
            text = "".join(block.text for block in answer.content if block.type == "text")
            tools = [(block.name, block.input) for block in answer.content if block.type == "tool_use"]
            return said(text, answer.stop_reason, answer.usage.output_tokens, tools)
        text, finish, out, tools = "", None, None, {}
        for event in anthropic.messages.create(**question, stream=True):
            if event.type == "content_block_start" and event.content_block.type == "tool_use":
                tools[event.index] = [event.content_block.name, ""]
            elif event.type == "content_block_delta" and event.delta.type == "text_delta":
                text += event.delta.text
            elif event.type == "content_block_delta" and event.delta.type == "input_json_delta":
                tools.setdefault(event.index, ["", ""])[1] += event.delta.partial_json
            elif event.type == "message_delta":
                finish, out = event.delta.stop_reason, event.usage.output_tokens
        return said(text, finish, out, tools.values())

    return ask


run(client)
