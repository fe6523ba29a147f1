"""Perplexity's shapes: OpenAI's chat with the search that an answer rests on. Each chunk
tells what is new and all that was said so far, and the search again."""

from __future__ import annotations

import answers_openai
from answers_openai import prompt, streamed
from wire import event

__all__ = ["complete", "error", "error_event", "events", "prompt", "streamed"]
CITATIONS = ["https://example.com/oslo", "https://example.com/rain"]
RESULTS = [{"title": f"Page {n}", "url": url, "date": None, "last_updated": "2026-03-03",
            "snippet": "It rains in Oslo.", "source": "web"} for n, url in enumerate(CITATIONS)]
KINDS = {400: "invalid_request", 401: "invalid_api_key", 429: "request_rate_limit_exceeded"}


def error(status: int, message: str) -> dict:
    return {"error": {"message": message, "type": KINDS.get(status, "internal_error"), "code": status}}


def error_event() -> bytes:
    return event(error(500, "Internal server error."))


def _searched(body: dict, answer: dict, state: str | None) -> dict:
    counted = answers_openai.usage(body)
    usage = {name: counted[name] for name in ("prompt_tokens", "completion_tokens", "total_tokens")}
    usage |= {"search_context_size": "low", "citation_tokens": None, "num_search_queries": 1,
              "reasoning_tokens": None, "cost": {"input_tokens_cost": 0.0, "output_tokens_cost": 0.0,
                                                 "request_cost": 0.005, "total_cost": 0.005}}
    kinds = {"PENDING": "message", "COMPLETED": "end_of_stream"}
    return {"id": "0f3d3f4e-perplexity", "model": body["model"], "created": answer["created"], "usage": usage,
            "citations": CITATIONS, "search_results": RESULTS, "object": answer["object"],
            "status": state, "type": kinds.get(state), "choices": answer["choices"]}


def complete(operation: str, path: str, body: dict, said: str | None) -> dict:
    answer = answers_openai.complete(operation, path, body, said)
    for choice in answer["choices"]:
        del choice["logprobs"]
        choice["delta"] = {"role": "assistant", "content": ""}
    return _searched(body, answer, None)


def events(_operation: str, _path: str, body: dict, said: str | None) -> list[bytes]:
    frames, text = [], ""
    for chunk in answers_openai.chunks(body, said):
        choice = chunk["choices"][0]
        text += choice["delta"].get("content") or ""
        finish = choice["finish_reason"]
        own = {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": text},
               "delta": {"role": "assistant", "content": "", **choice["delta"]}}
        frames.append(event(_searched(body, {**chunk, "choices": [own]}, "COMPLETED" if finish else "PENDING")))
    return frames
