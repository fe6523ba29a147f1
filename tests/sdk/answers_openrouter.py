"""OpenRouter's shapes: OpenAI's, with comments while it waits, the word of the model's
own provider beside its own, usage in every stream, and errors inside a 200."""

from __future__ import annotations

import answers_openai
from answers_openai import prompt, streamed
from wire import event

WAITING = b": OPENROUTER PROCESSING\n\n"
__all__ = ["complete", "error", "error_event", "events", "prompt", "streamed"]


def error(status: int, message: str) -> dict:
    return {"error": {"code": status, "message": message}}


def error_event() -> bytes:
    choice = {"index": 0, "delta": {"content": ""}, "finish_reason": "error"}
    return event({"id": "gen-1", "object": "chat.completion.chunk", "created": answers_openai.CREATED,
                  "model": "openai/gpt-4o-mini", "provider": "OpenAI",
                  "error": {"code": 502, "message": "Provider disconnected"}, "choices": [choice]})


def _usage(body: dict) -> dict:
    return {**answers_openai.usage(body), "cost": 0.00002, "is_byok": False}


def complete(operation: str, path: str, body: dict, said: str | None) -> dict:
    if "fail within" in prompt(body):
        return error(502, "Provider returned error")
    answer = _own(body, answers_openai.complete(operation, path, body, said))
    for choice in answer["choices"]:
        choice["native_finish_reason"] = choice["finish_reason"]
        choice["message"]["reasoning"] = None
    return {**answer, "usage": _usage(body)}


def events(_operation: str, _path: str, body: dict, said: str | None) -> list[bytes]:
    chunks = [_own(body, chunk) for chunk in answers_openai.chunks(body, said)]
    for chunk in chunks:
        for choice in chunk["choices"]:
            choice["native_finish_reason"] = choice["finish_reason"]
    last = {"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": None,
            "native_finish_reason": None, "logprobs": None}
    chunks.append({**chunks[-1], "choices": [last], "usage": _usage(body)})
    return [WAITING, WAITING, *answers_openai.frames(chunks)]


def _own(body: dict, answer: dict) -> dict:
    return {**answer, "id": "gen-" + answer["id"][9:], "model": body["model"], "provider": "OpenAI"}
