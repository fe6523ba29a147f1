"""One fixture file of aimock runs in aimock and, as a script, in loomrec: the same requests get
the same statuses, texts, tool calls, vectors and pieces of streams."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import subprocess
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from conftest import stop
from test_aimock_fixtures import aimock

FIXTURES = Path(__file__).parent / "aimock_script.json"
TOOL = {"type": "function", "function": {"name": "search", "parameters": {"type": "object"}}}


def user(text: str) -> list[dict]:
    return [{"role": "user", "content": text}]


def called(result: str) -> list[dict]:
    call = {"id": "call_1", "type": "function", "function": {"name": "get_weather", "arguments": "{}"}}
    return [*user("weather"), {"role": "assistant", "content": None, "tool_calls": [call]},
            {"role": "tool", "tool_call_id": "call_1", "content": result}]


def talk(turns: int) -> list[dict]:
    return [*user("talk"), *[{"role": "assistant", "content": "And then?"}, *user("talk")] * turns]


def chat(messages: list[dict] | str, **more) -> tuple[str, dict]:
    messages = user(messages) if isinstance(messages, str) else messages
    return "/v1/chat/completions", {"model": "gpt-4o", "messages": messages, **more}


def claude(text: str, **more) -> tuple[str, dict]:
    return "/v1/messages", {"model": "claude-sonnet-4", "max_tokens": 99, "messages": user(text), **more}


def gemini(text: str, stream: bool = False) -> tuple[str, dict]:
    method = "streamGenerateContent?alt=sse" if stream else "generateContent"
    body = {"contents": [{"role": "user", "parts": [{"text": text}]}]}
    return f"/v1beta/models/gemini-2.5-flash:{method}", body


STREAM = {"stream": True}
REQUESTS = [
    # A sequence: the third is dropped by chaos, and counted all the same. The fifth is not there.
    *[chat("in turn")] * 5,
    *[chat(talk(turns)) for turns in range(6)],
    chat("weather"), chat("weather", **STREAM), chat(called("sun")), chat(called("rain"), **STREAM),
    chat("hello"), chat("well, hello there", **STREAM), chat("Hello"),
    chat("hello", model="gpt-4o-mini-2024-07-18"), chat("hello", model="gpt-4o-minimal"),
    chat([{"role": "system", "content": "Be polite and terse."}, *user("hello")]),
    chat([{"role": "system", "content": "Be terse."}, *user("hello")]),
    chat("hello", tools=[TOOL]), chat("hello", response_format={"type": "json_object"}),
    chat([{"role": "user", "content": [{"type": "text", "text": "hello"}]}]),
    chat([*user("hello"), {"role": "assistant", "content": "hello"}, *user("else")]),
    chat("short"), chat("short", **STREAM), chat("both"), chat("both", **STREAM),
    chat("pieces"), chat("pieces", **STREAM), chat("busy"), chat("busy", **STREAM), chat("broken"),
    chat("lost"), chat("lost", **STREAM), chat("gone"), chat("unlucky"), chat("lucky"),
    chat("lucky", **STREAM), chat("cut"), chat("cut", **STREAM), chat("nobody knows"),
    claude("hello"), claude("hello", **STREAM), claude("weather"), claude("pieces", **STREAM),
    claude("busy"), claude("lost"), claude("cut", **STREAM), claude("nobody knows"),
    gemini("hello"), gemini("hello", stream=True), gemini("weather"), gemini("pieces", stream=True),
    ("/v1/responses", {"model": "gpt-4o", "input": "hello"}),
    ("/v1/responses", {"model": "gpt-4o", "input": "hello", **STREAM}),
    ("/v1/embeddings", {"model": "text-embedding-3-small", "input": "a text"}),
    ("/v1/embeddings", {"model": "text-embedding-3-small", "input": ["a text", "and more"]}),
]


@contextlib.contextmanager
def scripted(loomrec, where):
    """loomrec with the fixture file as its script."""
    child = subprocess.Popen(
        [loomrec.binary, "replay", "--script", str(FIXTURES), "--listen", "127.0.0.1:0"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", cwd=where,
        env={name: value for name, value in os.environ.items() if not name.startswith("LOOMREC_")})
    said = []
    for line in child.stdout:
        said.append(line)
        if (found := re.search(r"(http://127\.0\.0\.1:\d+)", line)) is not None:
            break
    else:
        pytest.fail(f"loomrec did not start: exit {child.wait()}:\n{''.join(said)}")
    try:
        yield found[1]
    finally:
        stop(child)


def ask(address: str, path: str, body: dict) -> tuple[int, bytes, str]:
    """The status, the body and the end of an answer."""
    parts = urlsplit(address)
    client = http.client.HTTPConnection(parts.hostname, parts.port, timeout=60)
    text = json.dumps(body)
    try:
        client.request("POST", path, text, {"content-type": "application/json", "authorization": "Bearer x",
                                            "x-api-key": "x", "x-goog-api-key": "x"})
        answer = client.getresponse()
    except OSError:
        return 0, b"", "cut"
    try:
        return answer.status, answer.read(), "whole"
    except http.client.IncompleteRead as cut:
        return answer.status, cut.partial, "cut"
    except OSError:
        return answer.status, b"", "cut"
    finally:
        client.close()


def texts(value) -> list[str]:
    """The words of an answer, in their order, wherever its provider puts them. Gemini's
    finishReason is left out: behind a tool call it is STOP, and aimock says FUNCTION_CALL."""
    if isinstance(value, list):
        return [text for inner in value for text in texts(inner)]
    if not isinstance(value, dict):
        return []
    found = []
    for name, inner in value.items():
        if name in ("content", "text", "delta", "refusal") and isinstance(inner, str):
            found.append(inner)
        elif name in ("arguments", "partial_json") and isinstance(inner, str):
            found.append(inner)
        elif name in ("name", "stop_reason", "finish_reason") and isinstance(inner, str):
            found.append(f"{name}={inner}")
        elif name in ("input", "args"):
            found.append(json.dumps(inner, sort_keys=True))
        else:
            found.extend(texts(inner))
    return found


def seen(status: int, body: bytes, end: str):
    """What is the same in both tools."""
    if end == "cut":
        return "cut", [piece for piece in pieces(body) if piece]
    if status in (404, 422):  # aimock's word for what nothing answers, and loomrec's
        return "unanswered"
    if status >= 400:
        error = json.loads(body).get("error") or {}
        by_chance = status == 429 and "rate limit" in error.get("message", "").lower()
        return status, "by chance" if by_chance else error.get("message")
    if body.lstrip().startswith(b"{"):
        whole = json.loads(body)
        vectors = [one["embedding"] for one in whole.get("data") or []]
        usage = whole.get("usage") or {}
        tokens = usage.get("total_tokens") if whole.get("model") == "other-model" else None
        return status, vectors or sorted(arguments(texts(whole))), tokens
    return status, "".join(pieces(body))


def arguments(found: list[str]) -> list[str]:
    """Arguments of tools without their blanks."""
    def plain(text: str) -> str:
        with contextlib.suppress(ValueError):
            return json.dumps(json.loads(text), sort_keys=True)
        return text
    return [plain(text) for text in found]


def pieces(body: bytes) -> list[str]:
    """The pieces of text of a stream."""
    found = []
    for line in body.decode().splitlines():
        if line.startswith("data: {"):
            event = json.loads(line[6:])
            if event.get("type", "").endswith((".done", ".completed", "_item.added", "_part.added")):
                continue  # the whole again, at the end
            for choice in event.get("choices") or []:
                found.append(choice["delta"].get("content") or "")
            delta = event.get("delta")
            found.append(delta if isinstance(delta, str) else (delta or {}).get("text") or "")
            for candidate in event.get("candidates") or []:
                found.extend(part.get("text") or "" for part in candidate["content"]["parts"])
    return [piece for piece in found if piece]


def test_one_fixture_file_says_the_same_in_aimock_and_in_loomrec(loomrec, tmp_path):
    assert len(REQUESTS) >= 60
    with aimock(tmp_path, FIXTURES) as theirs, scripted(loomrec, tmp_path) as ours:
        differing = []
        for path, body in REQUESTS:
            expected, found = seen(*ask(theirs, path, body)), seen(*ask(ours, path, body))
            if found != expected:
                differing.append((path, body, expected, found))
        assert differing == []


def test_pieces_of_a_stream_are_aimocks(loomrec, tmp_path):
    with aimock(tmp_path, FIXTURES) as theirs, scripted(loomrec, tmp_path) as ours:
        for path, body in [chat("pieces", **STREAM), chat("hello", **STREAM), claude("pieces", **STREAM)]:
            expected, found = (pieces(ask(address, path, body)[1]) for address in (theirs, ours))
            assert found == expected and len(found) > 2, (path, body)
