"""Anthropic's shapes: messages, complete and streamed, with tools and errors."""

from __future__ import annotations

import hashlib

from wire import dump, event, words

TYPES = {400: "invalid_request_error", 401: "authentication_error", 404: "not_found_error",
         429: "rate_limit_error", 500: "api_error", 529: "overloaded_error"}
TOOL = {"type": "tool_use", "id": "toolu_01Paris", "name": "get_weather",
        "input": {"city": "Paris", "unit": "celsius"}}
TOOL_PIECES = ["", '{"city": "Pa', 'ris", "unit"', ': "celsius"}']


def prompt(body: dict) -> str:
    """The last thing the user said."""
    for message in reversed(body["messages"]):
        if message["role"] == "user":
            said = message["content"]
            return said if isinstance(said, str) else "".join(part.get("text", "") for part in said)
    return ""


def streamed(_path: str, body: dict) -> bool:
    return body.get("stream") is True


def error(status: int, message: str) -> dict:
    return {"type": "error", "request_id": "req_011CSHoEeqs5C35K2UUqR7Fy",
            "error": {"type": TYPES.get(status, "api_error"), "message": message}}


def error_event() -> bytes:
    return event({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, "error")


def _answer(body: dict, said: str | None) -> tuple[list[dict], str]:
    last = body["messages"][-1]["content"]
    if not isinstance(last, str) and any(part["type"] == "tool_result" for part in last):
        return [{"type": "text", "text": "It is 18 °C in Paris. 🌦️"}], "end_turn"
    if body.get("tools"):
        return [{"type": "text", "text": "I will look that up."}, TOOL], "tool_use"
    return [{"type": "text", "text": said or f"You said “{prompt(body)}” 🙂"}], "end_turn"


def _message(body: dict, content: list[dict], reason: str | None, tokens: int) -> dict:
    digest = hashlib.sha256(dump(body["messages"])).hexdigest()[:22]
    asked = sum(len(str(m["content"]).split()) for m in body["messages"])
    usage = {"input_tokens": asked, "cache_creation_input_tokens": 0, "cache_read_input_tokens": 0,
             "output_tokens": tokens, "service_tier": "standard"}
    return {"id": f"msg_{digest}", "type": "message", "role": "assistant", "model": body["model"],
            "content": content, "stop_reason": reason, "stop_sequence": None, "usage": usage}


def complete(_operation: str, _path: str, body: dict, said: str | None) -> dict:
    content, reason = _answer(body, said)
    return _message(body, content, reason, 17)


def events(_operation: str, _path: str, body: dict, said: str | None) -> list[bytes]:
    return [event(step, step["type"]) for step in steps(body, said)]


def steps(body: dict, said: str | None) -> list[dict]:
    """A streamed message's events."""
    content, reason = _answer(body, said)
    told: list[dict] = [{"type": "message_start", "message": _message(body, [], None, 1)}]
    for index, block in enumerate(content):
        if block["type"] == "text":
            empty: dict = {"type": "text", "text": ""}
            deltas = [{"type": "text_delta", "text": piece} for piece in words(block["text"])]
        else:
            empty = {**block, "input": {}}
            deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in TOOL_PIECES]
        told.append({"type": "content_block_start", "index": index, "content_block": empty})
        if index == 0:
            told.append({"type": "ping"})
        told += [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
        told.append({"type": "content_block_stop", "index": index})
    told.append({"type": "message_delta", "delta": {"stop_reason": reason, "stop_sequence": None},
                  "usage": {"output_tokens": 17}})
    told.append({"type": "message_stop"})
    return told
