"""Ollama's shapes: chat, generate and embed; a line of JSON for each piece of a stream."""

from __future__ import annotations

import hashlib

from wire import dump, words

MEDIA = "application/x-ndjson"
CREATED = "2026-11-20T10:11:12.131415Z"
CALLS = [{"function": {"name": "get_weather", "arguments": {"city": city}}} for city in ("Paris", "Oslo")]


def prompt(body: dict) -> str:
    """The last thing the user said."""
    if "prompt" in body:
        return body["prompt"]
    return [m for m in body["messages"] if m["role"] == "user"][-1]["content"]


def streamed(_path: str, body: dict) -> bool:
    """It streams unless it is told not to."""
    return body.get("stream") is not False


def error(_status: int, message: str) -> dict:
    return {"error": message}


def error_event() -> bytes:
    return dump({"error": "an error was encountered while running the model"}) + b"\n"


def _calls_tools(body: dict) -> bool:
    return bool(body.get("tools")) and body["messages"][-1]["role"] == "user"


def _piece(operation: str, body: dict, text: str, **more: object) -> dict:
    said = {"message": {"role": "assistant", "content": text}} if operation == "chat" else {"response": text}
    return {"model": body["model"], "created_at": CREATED, **said, "done": False, **more}


def _end(body: dict) -> dict:
    asked = len(prompt(body).split())
    return {"done": True, "done_reason": "stop", "total_duration": 4883583458, "load_duration": 1334875,
            "prompt_eval_count": asked + 20, "prompt_eval_duration": 342546000,
            "eval_count": 24 if _calls_tools(body) else 9, "eval_duration": 4535599000}


def _text(body: dict, said: str | None) -> str:
    return "" if _calls_tools(body) else said or f"You said “{prompt(body)}” 🙂"


def complete(operation: str, _path: str, body: dict, said: str | None) -> dict:
    answer = _piece(operation, body, _text(body, said), **_end(body))
    if _calls_tools(body):
        answer["message"]["tool_calls"] = CALLS
    return answer


def events(operation: str, _path: str, body: dict, said: str | None) -> list[bytes]:
    lines = [_piece(operation, body, piece) for piece in words(_text(body, said))]
    if _calls_tools(body):
        lines = []
        for call in CALLS:
            lines.append(_piece(operation, body, ""))
            lines[-1]["message"]["tool_calls"] = [call]
    return [dump(line) + b"\n" for line in [*lines, _piece(operation, body, "", **_end(body))]]


def embeddings(body: dict) -> dict:
    texts = body["input"] if isinstance(body["input"], list) else [body["input"]]
    vectors = [[(b - 128) / 128 for b in hashlib.sha256(text.encode()).digest()[:8]] for text in texts]
    return {"model": body["model"], "embeddings": vectors, "total_duration": 14143917, "load_duration": 1019500,
            "prompt_eval_count": 3 * len(texts)}
