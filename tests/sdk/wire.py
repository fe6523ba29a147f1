"""What a scripted reply is made of."""

from __future__ import annotations

import json
from dataclasses import dataclass, field


@dataclass
class Reply:
    """A whole body, or chunks with a pause after each and an end: `complete`, `cut`
    (closed without the terminating chunk) or `reset`."""

    status: int = 200
    headers: list[tuple[str, str]] = field(default_factory=list)
    body: bytes = b""
    chunks: list[bytes] | None = None
    pause: float = 0.004
    end: str = "complete"


def dump(value: object) -> bytes:
    """JSON as providers write it: no spaces, characters as they are."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def event(value: object, name: str | None = None) -> bytes:
    """One server-sent event."""
    head = f"event: {name}\n".encode() if name else b""
    return head + b"data: " + dump(value) + b"\n\n"


def words(text: str) -> list[str]:
    """The text in the pieces a model streams it in; joined they are the text."""
    pieces = text.split(" ")
    return [piece if i == 0 else " " + piece for i, piece in enumerate(pieces)]
