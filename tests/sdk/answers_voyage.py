"""Voyage's shapes: embeddings, of contexts too, and reranking."""

from __future__ import annotations

import base64
import hashlib
import struct

__all__ = ["embeddings", "error", "rerank"]


def error(_status: int, message: str) -> dict:
    return {"detail": message}


def _vector(text: str) -> list[float]:
    """Eight numbers, of length 1 as Voyage's vectors are."""
    numbers = [(byte - 127.5) / 128 for byte in hashlib.sha256(text.encode()).digest()[:8]]
    length = sum(number * number for number in numbers) ** 0.5
    return [number / length for number in numbers]


def _item(index: int, text: str, body: dict) -> dict:
    vector = _vector(text)
    packed = base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()
    return {"object": "embedding", "embedding": packed if body.get("encoding_format") == "base64" else vector,
            "index": index}


def embeddings(body: dict) -> dict:
    if "inputs" in body:
        data = [{"object": "list", "index": place,
                 "data": [_item(index, text, body) for index, text in enumerate(chunks)]}
                for place, chunks in enumerate(body["inputs"])]
        count = sum(len(chunks) for chunks in body["inputs"])
    else:
        texts = body["input"] if isinstance(body["input"], list) else [body["input"]]
        data, count = [_item(index, text, body) for index, text in enumerate(texts)], len(texts)
    return {"object": "list", "data": data, "model": body["model"], "usage": {"total_tokens": 3 * count}}


def rerank(body: dict) -> dict:
    scores = [{"relevance_score": round(1 / (index + 2), 4), "index": index}
              for index in range(len(body["documents"]))]
    return {"object": "list", "data": scores[:body.get("top_k") or None], "model": body["model"],
            "usage": {"total_tokens": 26}}
