"""A scripted upstream: chat completions in OpenAI's shape, whose answers follow from the prompts."""

from __future__ import annotations

import base64
import json
import random
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

MODEL = "gpt-4o-mini"


def answer_text(prompt: str, edition: int = 1) -> str:
    """Returns what the upstream answers to a prompt. Each edition answers differently."""
    return f"edition {edition} answers: {prompt}"


def noise(seed: str, length: int) -> str:
    """Returns letters that follow from a seed, and look random."""
    return base64.b64encode(random.Random(seed).randbytes(length * 3 // 4)).decode()


class Upstream:
    """A listener on loopback. Counts the calls that it has answered, by prompt."""

    def __init__(self) -> None:
        self.edition = 1
        self.is_failing = False
        self.padding = 0  # how many characters each answer has at its end
        self.noise = 0  # how many more, which no compression makes smaller than three quarters
        self.prompts: list[str] = []
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.upstream = self
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256
    upstream: Upstream

    def handle_error(self, request: object, client_address: object) -> None:
        pass  # recorders are killed during calls


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        prompt = body["messages"][-1]["content"]
        upstream = self.server.upstream
        upstream.prompts.append(prompt)
        text = answer_text(prompt, upstream.edition) + "." * upstream.padding + noise(prompt, upstream.noise)
        status = "500 Internal Server Error" if upstream.is_failing else "200 OK"
        answer = _stream(text) if body.get("stream") else _whole(text)
        kind = "text/event-stream" if body.get("stream") else "application/json"
        head = f"HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {len(answer)}\r\n\r\n"
        self.wfile.write(head.encode() + answer)

    def log_message(self, *_: object) -> None:
        pass


def _whole(text: str) -> bytes:
    message = {"role": "assistant", "content": text}
    usage = {"prompt_tokens": 5, "completion_tokens": 7, "total_tokens": 12}
    answer = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1795300000, "model": MODEL,
              "choices": [{"index": 0, "message": message, "finish_reason": "stop"}], "usage": usage}
    return json.dumps(answer).encode()


def _stream(text: str) -> bytes:
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1795300000, "model": MODEL}
    half = len(text) // 2
    deltas = [{"role": "assistant", "content": text[:half]}, {"content": text[half:]}, {}]
    events = [{**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None if delta else "stop"}]}
              for delta in deltas]
    lines = [f"data: {json.dumps(event)}\n\n" for event in events]
    return "".join([*lines, "data: [DONE]\n\n"]).encode()
