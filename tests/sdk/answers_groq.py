"""Groq's shapes: OpenAI's, with usage told in `x_groq` of a stream's last chunk."""

from __future__ import annotations

import answers_openai
from answers_openai import error, error_event, prompt, streamed

REQUEST = "req_01jbd6g2qdfw2adyrt2az8hz4w"
__all__ = ["complete", "error", "error_event", "events", "prompt", "streamed"]


def _usage(body: dict) -> dict:
    counted = answers_openai.usage(body)
    return {"queue_time": 0.037, "prompt_tokens": counted["prompt_tokens"], "prompt_time": 0.0006,
            "completion_tokens": counted["completion_tokens"], "completion_time": 0.025,
            "total_tokens": counted["total_tokens"], "total_time": 0.0256}


def complete(operation: str, path: str, body: dict, said: str | None) -> dict:
    answer = answers_openai.complete(operation, path, body, said)
    return {**answer, "model": body["model"], "usage": _usage(body), "x_groq": {"id": REQUEST}}


def events(_operation: str, _path: str, body: dict, said: str | None) -> list[bytes]:
    chunks = [{**chunk, "model": body["model"]} for chunk in answers_openai.chunks(body, said)]
    chunks[0]["x_groq"] = {"id": REQUEST}
    chunks[-1]["x_groq"] = {"id": REQUEST, "usage": _usage(body)}
    return answers_openai.frames(chunks)
