"""Gemini's shapes: generateContent and streamGenerateContent?alt=sse."""

from __future__ import annotations

import re

from wire import dump, words

STATUSES = {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 404: "NOT_FOUND",
            429: "RESOURCE_EXHAUSTED", 500: "INTERNAL", 503: "UNAVAILABLE"}


def prompt(body: dict) -> str:
    """The last thing the user said."""
    users = [c for c in body["contents"] if c.get("role", "user") == "user"]
    return str(users[-1]["parts"][0].get("text", ""))


def streamed(path: str, _body: dict) -> bool:
    return path.endswith(":streamGenerateContent")


def error(status: int, message: str) -> dict:
    return {"error": {"code": status, "message": message, "status": STATUSES.get(status, "UNKNOWN")}}


def error_event() -> bytes:
    return b"data: " + dump(error(503, "The model is overloaded.")) + b"\r\n\r\n"


def _part(path: str, parts: list[dict], tokens: int, reason: str | None) -> dict:
    candidate: dict = {"content": {"parts": parts, "role": "model"}, "index": 0}
    if reason:
        candidate["finishReason"] = reason
    model = re.search(r"/models/([^/:]+):", path)[1]
    return {"candidates": [candidate], "modelVersion": model, "responseId": "mZ0gabc1",
            "usageMetadata": {"promptTokenCount": 7, "candidatesTokenCount": tokens,
                              "totalTokenCount": 7 + tokens}}


def _parts(body: dict, said: str | None) -> list[dict]:
    if body.get("tools") and "functionResponse" not in body["contents"][-1]["parts"][0]:
        return [{"functionCall": {"name": "get_weather", "args": {"city": "Paris"}}}]
    return [{"text": said or f"You said “{prompt(body)}” 🙂"}]


def complete(_operation: str, path: str, body: dict, said: str | None) -> dict:
    return _part(path, _parts(body, said), 9, "STOP")


def events(_operation: str, path: str, body: dict, said: str | None) -> list[bytes]:
    parts = _parts(body, said)
    pieces = [[{"text": piece}] for piece in words(parts[0]["text"])] if "text" in parts[0] else [parts]
    steps = [_part(path, piece, n + 1, None) for n, piece in enumerate(pieces[:-1])]
    steps.append(_part(path, pieces[-1], 9, "STOP"))
    return [b"data: " + dump(step) + b"\r\n\r\n" for step in steps]
