"""Mistral's shapes: OpenAI's, with tool calls whole in one chunk and usage in every
stream's last chunk."""

from __future__ import annotations

import answers_openai
from answers_openai import prompt, streamed
from wire import event

__all__ = ["complete", "embeddings", "error", "error_event", "events", "prompt", "streamed"]


def error(status: int, message: str) -> dict:
    if status == 401:
        return {"message": message, "request_id": "a1b2c3"}
    return {"object": "error", "message": message, "type": "rate_limited" if status == 429 else "invalid_request",
            "param": None, "code": "1300"}


def error_event() -> bytes:
    return event({"object": "error", "message": "Service unavailable", "type": "internal_server_error",
                  "param": None, "code": "1000"})


def complete(operation: str, path: str, body: dict, said: str | None) -> dict:
    answer = answers_openai.complete(operation, path, body, said)
    choice = answer["choices"][0]
    message = {"role": "assistant", "content": choice["message"]["content"] or "",
               "tool_calls": _calls(choice["message"].get("tool_calls"))}
    return {**_own(body, answer), "choices": [{"index": 0, "finish_reason": choice["finish_reason"], "message": message}],
            "usage": _usage(body)}


def events(operation: str, path: str, body: dict, said: str | None) -> list[bytes]:
    message = complete(operation, path, body, said)["choices"][0]["message"]
    chunks = [{**_own(body, chunk), "choices": [{"index": 0, "delta": choice["delta"],
                                                 "finish_reason": choice["finish_reason"]}]}
              for chunk in answers_openai.chunks(body, said) for choice in chunk["choices"]
              if "tool_calls" not in choice["delta"]]
    chunks[0]["choices"][0]["delta"] = {"role": "assistant", "content": ""}
    delta = {"content": ""}
    if message["tool_calls"]:
        delta["tool_calls"] = [{**call, "index": index} for index, call in enumerate(message["tool_calls"])]
    chunks[-1]["choices"][0]["delta"] = delta
    chunks[-1]["usage"] = _usage(body)
    return answers_openai.frames(chunks)


def embeddings(body: dict) -> dict:
    answer = answers_openai.embeddings(body)
    return {"id": "cf8a4b3f5d9e4d4b8f6f", **answer, "usage": {**answer["usage"], "completion_tokens": 0}}


def _own(body: dict, answer: dict) -> dict:
    return {"id": answer["id"][9:], "object": answer["object"], "created": answer["created"],
            "model": body["model"]}


def _usage(body: dict) -> dict:
    counted = answers_openai.usage(body)
    return {name: counted[name] for name in ("prompt_tokens", "total_tokens", "completion_tokens")}


def _calls(calls: list[dict] | None) -> list[dict] | None:
    """Its ids are nine letters and digits."""
    return calls and [{"id": f"D681PevK{index}", "function": call["function"]} for index, call in enumerate(calls)]
