"""What the scripted upstream says: pure functions from a request to a reply.

What a provider's own upstream is mounted at (`/mistral`) chooses its shape, but for
OpenAI, Anthropic and Gemini, which stand at the root. The prompt's words choose the scene, so that a program asks for what it wants as a
person would: `noisy`, `fail midway`, `hang up midway`, `reset midway`, `busy once`,
`status 503`, `compressed`, `repeat my key`, `count the calls`. Anything else is
answered by an echo. Nothing here depends on the clock or on chance.
"""

from __future__ import annotations

import gzip
import json
import re

import answers_anthropic
import answers_azure
import answers_bedrock
import answers_cohere
import answers_gemini
import answers_groq
import answers_mistral
import answers_ollama
import answers_openai
import answers_openrouter
import answers_perplexity
import answers_voyage
from wire import Reply, dump


def answer(request, times_before: int) -> Reply:
    """The reply to a request that came this often before."""
    path = request.path.split("?")[0]
    provider, operation = _recognise(path)
    if provider is None:
        return _json({"error": {"message": f"no such path: {path}", "type": "not_found"}}, 404)
    if operation == "transcription":
        return _json(answers_openai.transcription(request))
    if operation == "models":
        return _json(answers_openai.models(path))
    body = json.loads(request.body)
    if operation == "embeddings":
        told = re.search(r"status (\d{3})", str(body.get("input")))
        if told is not None and provider is answers_voyage:
            return _json(provider.error(int(told[1]), f"answered with {told[1]}"), int(told[1]))
        return _json(provider.embeddings(body))
    if operation == "rerank":
        return _json(provider.rerank(body))
    if operation == "speech":
        return Reply(headers=[("content-type", "audio/mpeg")], chunks=answers_openai.speech(body))
    return _generate(provider, operation, path, body, request, times_before)


def _recognise(path: str):
    for pattern, provider, operation in [
        (r"^/v1/chat/completions$", answers_openai, "chat"),
        (r"^/v1/responses$", answers_openai, "responses"),
        (r"^/v1/embeddings$", answers_openai, "embeddings"),
        (r"^/v1/audio/transcriptions$", answers_openai, "transcription"),
        (r"^/v1/audio/speech$", answers_openai, "speech"),
        (r"^/v1/models(/[^/:]+)?$", answers_openai, "models"),
        (r"^/v1/messages$", answers_anthropic, "messages"),
        (r"^/v1(beta)?/models/[^/:]+:(streamG|g)enerateContent$", answers_gemini, "generate"),
        (r"^/azure/openai/deployments/[^/]+/chat/completions$", answers_azure, "chat"),
        (r"^/azure/openai/responses$", answers_azure, "responses"),
        (r"^/groq/openai/v1/chat/completions$", answers_groq, "chat"),
        (r"^/openrouter/api/v1/chat/completions$", answers_openrouter, "chat"),
        (r"^/perplexity/chat/completions$", answers_perplexity, "chat"),
        (r"^/voyage/v1/(contextualized)?embeddings$", answers_voyage, "embeddings"),
        (r"^/voyage/v1/rerank$", answers_voyage, "rerank"),
        (r"^/mistral/v1/chat/completions$", answers_mistral, "chat"),
        (r"^/mistral/v1/embeddings$", answers_mistral, "embeddings"),
        (r"^/cohere/v2/chat$", answers_cohere, "chat"),
        (r"^/cohere/v2/embed$", answers_cohere, "embeddings"),
        (r"^/ollama/api/chat$", answers_ollama, "chat"),
        (r"^/ollama/api/generate$", answers_ollama, "generate"),
        (r"^/ollama/api/embed$", answers_ollama, "embeddings"),
        (r"^/bedrock/model/[^/]+/converse(-stream)?$", answers_bedrock, "converse"),
        (r"^/bedrock/model/[^/]+/invoke(-with-response-stream)?$", answers_bedrock, "invoke"),
    ]:
        if re.match(pattern, path):
            return provider, operation
    return None, None


def _generate(provider, operation, path, body, request, times_before) -> Reply:
    prompt = provider.prompt(body)
    if (status := re.search(r"status (\d{3})", prompt)) is not None:
        reply = _json(provider.error(int(status[1]), f"answered with {status[1]}"), int(status[1]))
        reply.headers += getattr(provider, "error_headers", lambda _status: [])(int(status[1]))
        return reply
    if "busy once" in prompt and times_before == 0:
        reply = _json(provider.error(429, "Rate limit reached; try again in 1s"), 429)
        reply.headers += [("retry-after", "1"), ("x-ratelimit-remaining-requests", "0")]
        return reply
    if "repeat my key" in prompt:
        keys = [request.headers.get(name) for name in ("authorization", "x-api-key", "x-goog-api-key")]
        key = next(key for key in keys if key).removeprefix("Bearer ")
        reply = _json(provider.error(401, f"Incorrect API key provided: {key}"), 401)
        reply.headers.append(("set-cookie", f"__cf_bm={key}; path=/"))
        return reply
    said = f"Call {times_before + 1}." if "count the calls" in prompt else None
    if provider.streamed(path, body):
        return _stream(provider, provider.events(operation, path, body, said), prompt)
    reply = _json(provider.complete(operation, path, body, said))
    if "compressed" in prompt:
        reply.body = gzip.compress(reply.body, mtime=0)
        reply.headers.append(("content-encoding", "gzip"))
    return reply


def _stream(provider, events: list[bytes], prompt: str) -> Reply:
    media = getattr(provider, "MEDIA", "text/event-stream; charset=utf-8")
    reply = Reply(headers=[("content-type", media),
                           ("cache-control", "no-cache")], chunks=events)
    if "fail midway" in prompt:
        reply.chunks = [*events[:4], provider.error_event()]
    elif "hang up midway" in prompt:
        reply.chunks, reply.end = events[:4], "cut"
    elif "reset midway" in prompt:
        reply.chunks, reply.end, reply.pause = events[:4], "reset", 0.03
    elif "noisy" in prompt:
        reply.chunks = _noisy(events)
    return reply


def _noisy(events: list[bytes]) -> list[bytes]:
    """The same events as an untidy server sends them: comments, CRLF, ids, retry lines,
    no space after a colon, several events in a chunk, cuts inside a character."""
    text = b": welcome\n\n:\r\n\r\nretry: 3000\n"
    for number, event in enumerate(events):
        if number % 3 == 0:
            event = b"id: %d\n" % number + event
        if number % 3 == 1:
            event = b": keep-alive\n" + event.replace(b"data: ", b"data:")
        if number % 2 == 1:
            event = event.replace(b"\n", b"\r\n")
        text += event
    sizes, chunks, at = [1, 7, 64, 3, 150, 19], [], 0
    while at < len(text):
        size = sizes[len(chunks) % len(sizes)]
        chunks.append(text[at:at + size])
        at += size
    return chunks


def _json(value: object, status: int = 200) -> Reply:
    return Reply(status=status, headers=[("content-type", "application/json")], body=dump(value))
