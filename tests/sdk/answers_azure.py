"""Azure OpenAI's shapes: OpenAI's, with the verdicts of a content filter around them."""

from __future__ import annotations

import answers_openai
from answers_openai import prompt, streamed
from wire import event

SAFE = {"hate": {"filtered": False, "severity": "safe"}}
__all__ = ["complete", "error", "error_event", "events", "prompt", "streamed"]


def error(status: int, message: str) -> dict:
    return {"error": {"code": str(status), "message": message}}


def error_event() -> bytes:
    return event(error(500, "The server had an error while answering"))


def complete(operation: str, path: str, body: dict, said: str | None) -> dict:
    answer = answers_openai.complete(operation, path, body, said)
    if operation == "responses":
        return answer
    answer["choices"] = [{**choice, "content_filter_results": SAFE} for choice in answer["choices"]]
    return {**answer, "prompt_filter_results": [{"prompt_index": 0, "content_filter_results": SAFE}]}


def events(operation: str, path: str, body: dict, said: str | None) -> list[bytes]:
    if operation == "responses":
        return answers_openai.events(operation, path, body, said)
    first = {"id": "", "object": "", "created": 0, "model": "", "choices": [],
             "prompt_filter_results": [{"prompt_index": 0, "content_filter_results": SAFE}]}
    chunks = answers_openai.chunks(body, said)
    for chunk in chunks:
        for choice in chunk["choices"]:
            choice["content_filter_results"] = SAFE if choice["delta"].get("content") else {}
    if (body.get("stream_options") or {}).get("include_usage"):
        chunks.append({**chunks[-1], "choices": [], "usage": answers_openai.usage(body)})
    return answers_openai.frames([first, *chunks])
