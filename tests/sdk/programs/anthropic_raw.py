"""Anthropic's messages as its SDKs before 2.0, and many others still, ask for them: with
`x-api-key` and the version of 2023. No SDK, so that the headers are seen to be these."""

import json
import os
import urllib.error
import urllib.request

from turns import SCHEMA, meaning, run


def ask(turn):
    body = {"model": "claude-haiku-4-5", "max_tokens": 99, "messages": turn.messages, "stream": turn.streamed}
    if turn.tools:
        body["tools"] = [{"name": "get_weather", "input_schema": SCHEMA}]
    headers = {"content-type": "application/json", "anthropic-version": "2023-06-01",
               "x-api-key": os.environ["ANTHROPIC_API_KEY"], **turn.headers}
    request = urllib.request.Request(os.environ["ANTHROPIC_BASE_URL"] + "/v1/messages",
                                     json.dumps(body).encode(), headers)
    try:
        with urllib.request.urlopen(request) as response:
            text = response.read().decode()
    except urllib.error.HTTPError as error:
        raise RuntimeError(f"{error.code}: {error.read().decode()}") from None
    if turn.streamed:
        return assembled(text), text
    answer = json.loads(text)
    return told(answer["content"], answer), text


def assembled(text):
    blocks, answer = [], {}
    for line in text.splitlines():
        if not line.startswith("data: "):
            continue
        event = json.loads(line[6:])
        if event["type"] == "message_start":
            answer = event["message"]
        elif event["type"] == "content_block_start":
            blocks.append({**event["content_block"], "pieces": ""})
        elif event["type"] == "content_block_delta":
            delta = event["delta"]
            blocks[event["index"]]["pieces"] += delta.get("text", "") + delta.get("partial_json", "")
        elif event["type"] == "message_delta":
            answer |= {"stop_reason": event["delta"]["stop_reason"], "usage": {**answer["usage"], **event["usage"]}}
    for block in blocks:
        pieces = block.pop("pieces")
        block |= {"text": pieces} if block["type"] == "text" else {"input": json.loads(pieces or "{}")}
    return told(blocks, answer)


def told(blocks, answer):
    text = "".join(block["text"] for block in blocks if block["type"] == "text")
    calls = [(b["id"], b["name"], b["input"]) for b in blocks if b["type"] == "tool_use"]
    usage = [answer["usage"]["input_tokens"], answer["usage"]["output_tokens"]]
    return meaning(text, answer["stop_reason"], usage, calls, answer["model"])


run(ask, statuses=(400, 529))
