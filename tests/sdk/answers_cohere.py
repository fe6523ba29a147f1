"""Cohere's shapes: v2 chat and embeddings."""

from __future__ import annotations

import hashlib

from wire import dump, event, words

CALLS = [("get_weather_Paris", ['{"city":', '"Paris"', "}"]), ("get_weather_Oslo", ['{"city":"Oslo"}'])]
PLAN = "I will look that up."


def prompt(body: dict) -> str:
    """The last thing the user said."""
    users = [m for m in body["messages"] if m["role"] == "user"]
    said = users[-1]["content"]
    return said if isinstance(said, str) else "".join(part.get("text", "") for part in said)


def streamed(_path: str, body: dict) -> bool:
    return body.get("stream") is True


def error(_status: int, message: str) -> dict:
    return {"id": "7e1d6c2a-4a21-4d6b-9a0d-0c1f2e3d4b5a", "message": message}


def error_event() -> bytes:
    return _event({"type": "message-end", "delta": {"finish_reason": "ERROR", "error": "overloaded"}})


def _calls_tools(body: dict) -> bool:
    return bool(body.get("tools")) and body["messages"][-1]["role"] == "user"


def _usage(body: dict) -> dict:
    asked = sum(len(str(m.get("content") or "").split()) for m in body["messages"])
    answered = 24 if _calls_tools(body) else 9
    return {"billed_units": {"input_tokens": asked, "output_tokens": answered},
            "tokens": {"input_tokens": asked + 60, "output_tokens": answered + 2}}


def _id(body: dict) -> str:
    digest = hashlib.sha256(dump(body["messages"])).hexdigest()
    return f"{digest[:8]}-{digest[8:12]}-4{digest[13:16]}-8{digest[17:20]}-{digest[20:32]}"


def _text(body: dict, said: str | None) -> str:
    return said or f"You said “{prompt(body)}” 🙂"


def complete(_operation: str, _path: str, body: dict, said: str | None) -> dict:
    message: dict = {"role": "assistant"}
    if _calls_tools(body):
        message["tool_plan"] = PLAN
        message["tool_calls"] = [{"id": i, "type": "function",
                                  "function": {"name": "get_weather", "arguments": "".join(pieces)}}
                                 for i, pieces in CALLS]
    else:
        message["content"] = [{"type": "text", "text": _text(body, said)}]
    finish = "TOOL_CALL" if _calls_tools(body) else "COMPLETE"
    return {"id": _id(body), "message": message, "finish_reason": finish, "usage": _usage(body)}


def events(_operation: str, _path: str, body: dict, said: str | None) -> list[bytes]:
    steps: list[dict] = [{"id": _id(body), "type": "message-start",
                          "delta": {"message": {"role": "assistant", "content": [], "tool_plan": "",
                                                "tool_calls": [], "citations": []}}}]
    if _calls_tools(body):
        steps += [{"type": "tool-plan-delta", "delta": {"message": {"tool_plan": piece}}} for piece in words(PLAN)]
        for index, (identity, pieces) in enumerate(CALLS):
            function = {"name": "get_weather", "arguments": ""}
            steps.append({"type": "tool-call-start", "index": index, "delta": {
                "message": {"tool_calls": {"id": identity, "type": "function", "function": function}}}})
            steps += [{"type": "tool-call-delta", "index": index,
                       "delta": {"message": {"tool_calls": {"function": {"arguments": piece}}}}} for piece in pieces]
            steps.append({"type": "tool-call-end", "index": index})
    else:
        steps.append({"type": "content-start", "index": 0,
                      "delta": {"message": {"content": {"type": "text", "text": ""}}}})
        steps += [{"type": "content-delta", "index": 0, "delta": {"message": {"content": {"text": piece}}}}
                  for piece in words(_text(body, said))]
        steps.append({"type": "content-end", "index": 0})
    finish = "TOOL_CALL" if _calls_tools(body) else "COMPLETE"
    steps.append({"type": "message-end", "delta": {"finish_reason": finish, "usage": _usage(body)}})
    return [_event(step) for step in steps]


def _event(step: dict) -> bytes:
    return event(step, step["type"])


def embeddings(body: dict) -> dict:
    """Vectors made from each text, as floats."""
    vectors = [[(b - 128) / 128 for b in hashlib.sha256(text.encode()).digest()[:8]] for text in body["texts"]]
    return {"id": "da6e531f-54c5-4a73-bf92-f60566d8d753", "embeddings": {"float": vectors}, "texts": body["texts"],
            "meta": {"api_version": {"version": "2"}, "billed_units": {"input_tokens": 3 * len(vectors)}},
            "response_type": "embeddings_by_type"}
