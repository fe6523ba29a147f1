"""The fixtures: an upstream that speaks OpenAI's, Anthropic's and Google's chat, and loomrec as a
server in front of it."""

from __future__ import annotations

import faulthandler
import json
import os
import re
import signal
import subprocess
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pytest

from workflows import APIS, ApiHandler

KEY = "sk-proj-" + "CanaryOpenAiCanaryOpenAiCanaryOpenAi0123"

WEATHER = {"id": "call_9", "type": "function",
           "function": {"name": "weather", "arguments": '{"city": "Zürich", "days": 2}'}}

# What the upstream says to a prompt: content, finish reason, usage, tool calls.
SAYS = {
    "plan": ("Grüße — ☃ and 😀", "stop", (412, 88, 0), None),
    "cut": ("As far as it w", "length", (9, 4, 0), None),
    "think": ("42", "stop", (20, 900, 870), None),
    "tool": (None, "tool_calls", (50, 17, 0), [WEATHER]),
}


def pytest_sessionfinish() -> None:
    """Says where the end of the run hangs, if it does."""
    faulthandler.dump_traceback_later(60)


def chat_answer(prompt: str) -> dict:
    """A chat completion, with the nulls that OpenAI sends."""
    content, finish, (asked, told, reasoning), tools = SAYS[prompt]
    message = {"role": "assistant", "content": content, "refusal": None}
    if tools:
        message["tool_calls"] = tools
    return {
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1795300000,
        "model": "gpt-4o-mini-2024-07-18", "service_tier": None,
        "choices": [{"index": 0, "message": message, "logprobs": None, "finish_reason": finish}],
        "usage": {"prompt_tokens": asked, "completion_tokens": told, "total_tokens": asked + told,
                  "completion_tokens_details": {"reasoning_tokens": reasoning},
                  "prompt_tokens_details": None},
    }


def chat_events(prompt: str) -> bytes:
    """The same as a stream, a character at a time, its usage in the last event."""
    whole = chat_answer(prompt)
    head = {k: whole[k] for k in ("id", "created", "model")} | {"object": "chat.completion.chunk"}
    choice = whole["choices"][0]
    deltas = [{"role": "assistant", "content": ""}]
    deltas += [{"content": character} for character in choice["message"]["content"] or ""]
    rows = [head | {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    rows.append(head | {"choices": [{"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}]})
    rows.append(head | {"choices": [], "usage": whole["usage"]})
    lines = [f"data: {json.dumps(row)}\n\n" for row in rows] + ["data: [DONE]\n\n"]
    return "".join(lines).encode()


def message_answer(prompt: str) -> dict:
    """The same as Anthropic's message."""
    content, finish, (asked, told, _), _ = SAYS[prompt]
    return {
        "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-4-5-20250929",
        "content": [{"type": "text", "text": content or ""}],
        "stop_reason": {"stop": "end_turn", "length": "max_tokens"}[finish], "stop_sequence": None,
        "usage": {"input_tokens": asked, "output_tokens": told},
    }


def content_answer(prompt: str) -> dict:
    """The same as Gemini's content."""
    content, finish, (asked, told, reasoning), _ = SAYS[prompt]
    return {
        "candidates": [{"index": 0, "content": {"role": "model", "parts": [{"text": content or ""}]},
                        "finishReason": {"stop": "STOP", "length": "MAX_TOKENS"}[finish]}],
        "usageMetadata": {"promptTokenCount": asked, "candidatesTokenCount": told - reasoning,
                          "thoughtsTokenCount": reasoning, "totalTokenCount": asked + told},
        "modelVersion": "gemini-2.0-flash-001",
    }


class Handler(BaseHTTPRequestHandler):
    """Answers by the last message's text, in the shape that is asked for."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.headers_seen.append({k.lower(): v for k, v in self.headers.items()})
        if "contents" in body:
            prompt = body["contents"][-1]["parts"][0]["text"]
            return self.say("application/json", json.dumps(content_answer(prompt)).encode())
        prompt = body["messages"][-1]["content"]
        if self.path.endswith("/messages"):
            return self.say("application/json", json.dumps(message_answer(prompt)).encode())
        if body.get("stream"):
            self.say("text/event-stream", chat_events(prompt))
        else:
            self.say("application/json", json.dumps(chat_answer(prompt)).encode())

    def say(self, media_type: str, body: bytes) -> None:
        self.send_response(200)
        self.send_header("content-type", media_type)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_arguments) -> None:
        pass


def serving(handler):
    """Serves on a free port for as long as a fixture lives."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.headers_seen = []
    server.url = f"http://127.0.0.1:{server.server_port}"
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


@pytest.fixture
def upstream():
    """An upstream that answers by the prompt, with the tokens and reasons of `SAYS`."""
    yield from serving(Handler)


@pytest.fixture
def apis():
    """An upstream that speaks the chat of OpenAI, Anthropic and Google."""
    yield from serving(ApiHandler)


@pytest.fixture(params=APIS, ids=lambda api: api.upstream)
def api(request):
    """Each API that AgentLoom's providers speak."""
    return request.param


@pytest.fixture(params=[False, True], ids=["complete", "streamed"])
def streamed(request):
    """Complete, and as a stream."""
    return request.param


class Loomrec:
    """The binary given by LOOMREC_BIN, as a server."""

    def __init__(self, where) -> None:
        self.binary, self.where = os.environ["LOOMREC_BIN"], where

    @contextmanager
    def serving(self, *arguments: str, code: int = 0):
        """A client whose base is the server; it ends as by Ctrl-C, with `code`."""
        environment = {k: v for k, v in os.environ.items() if not k.startswith("LOOMREC_")}
        child = subprocess.Popen([self.binary, *arguments, "--listen", "127.0.0.1:0"], cwd=self.where,
                                 env=environment, stderr=subprocess.PIPE, encoding="utf-8")
        line = child.stderr.readline()
        found = re.search(r"listening on (http://\S+)", line)
        if found is None:
            pytest.fail(f"loomrec did not start: {line}{child.stderr.read()}")
        try:
            with httpx.Client(base_url=found[1], headers={"authorization": f"Bearer {KEY}"}) as client:
                yield client
        finally:
            child.send_signal(signal.SIGINT)
            said = child.stderr.read()
            ended = child.wait()
        assert ended == code, said

    def record(self, recording, upstream, *flags: str):
        return self.serving("record", "-r", str(recording), "--upstream", f"openai={upstream.url}", *flags)

    def replay(self, recording, *flags: str, code: int = 0):
        return self.serving("replay", "-r", str(recording), *flags, code=code)

    def run(self, *arguments: str) -> str:
        """What a command says that ends well."""
        done = subprocess.run([self.binary, *arguments], cwd=self.where, capture_output=True,
                              encoding="utf-8", check=False)
        assert done.returncode == 0, done.stderr
        return done.stderr

    def refusal(self, recording) -> str:
        """What is said of a recording that no replay begins with."""
        done = subprocess.run([self.binary, "replay", "-r", str(recording), "--", "true"], cwd=self.where,
                              capture_output=True, encoding="utf-8", check=False)
        assert done.returncode == 4, done.stderr
        return done.stderr


@pytest.fixture
def loomrec(tmp_path) -> Loomrec:
    return Loomrec(tmp_path)


def ask(client: httpx.Client, prompt: str, step: str | None = None, header: str = "x-loomrec-step-id",
        **more) -> httpx.Response:
    """A chat call, in a step if one is named."""
    body = {"model": "gpt-4o-mini", "messages": [{"role": "user", "content": prompt}], **more}
    headers = {header: step} if step else {}
    return client.post("/openai/v1/chat/completions", json=body, headers=headers)
