"""A scripted upstream on loopback that plays the model behind a coding agent.

It speaks Anthropic Messages, OpenAI chat completions and Responses, and Gemini
generateContent, streamed or not; a `Plan` says what it answers. Ids are random, so that
nothing in a recording is equal by chance.
"""

from __future__ import annotations

import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from plans import Plan, Script
from socket_answers import ResponsesSocket
from wire_formats import anthropic, anthropic_whole, chat, chat_whole, gemini, responses

#: The scripts with several conversations at the same time. What their agent sends depends on which
#: of them ends first, and on what has ended when it asks again. So the model thinks about as long as a
#: real one, and longer in each further sub-agent, in seconds.
CONCURRENT = (Script.SUBAGENT_1, Script.SUBAGENTS_3)
THINKING = 0.5
THINKING_MORE = 1.5


class Upstream:
    """The listener. `calls` has one line for each request."""

    def __init__(self, directory: str, script: Script = Script.FILE, has_sockets: bool = False):
        self.directory, self.script, self.has_sockets = directory, script, has_sockets
        self.calls: list[str] = []
        self.bodies: list[bytes] = []
        #: The path and the headers of each request with a body.
        self.heads: list[tuple[str, dict[str, str]]] = []
        upstream = self

        class Handler(_Handler):
            owner = upstream

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    def plan(self, body: dict) -> Plan:
        """Returns what the model says to this request."""
        return Plan(body, self.script, self.directory)

    def stop(self) -> None:
        self.server.shutdown()
        self.server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    owner: Upstream

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.owner.calls.append(f"HEAD {self.path}")
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def do_GET(self):
        self.owner.calls.append(f"GET {self.path}")
        if self.headers.get("upgrade") and self.owner.has_sockets:
            self.speak()
        elif self.headers.get("upgrade"):
            self.json({"error": {"message": "upgrade to HTTP"}}, 426)
        elif self.path.endswith("/claude_code/policy_limits"):
            self.json({"restrictions": {}})
        elif self.path.endswith("/claude_code/settings"):
            self.json({"uuid": "0" * 8, "checksum": "sha256:0", "settings": {}})
        elif "models" in self.path:
            self.json({"object": "list", "data": [], "models": []})
        else:
            self.json({})

    def do_POST(self):
        length = self.headers.get("content-length")
        raw = self.rfile.read(int(length)) if length else self.chunked()
        path = self.path.split("?")[0]
        try:
            body = json.loads(raw or b"{}")
        except ValueError:
            body = {}
        client = self.headers.get("user-agent", "")
        self.owner.calls.append(f"POST {path} {len(raw)} {client[:20]}")
        self.owner.bodies.append(raw)
        self.owner.heads.append((self.path, dict(self.headers.items())))
        plan = self.owner.plan(body)
        if self.owner.script in CONCURRENT:
            time.sleep(THINKING + THINKING_MORE * (plan.subtask() or 0))
        if path.endswith("/messages"):
            self.answer(body, anthropic(body, plan), anthropic_whole(body, plan))
        elif path.endswith("/messages/count_tokens"):
            self.json({"input_tokens": 1234})
        elif path.endswith("/chat/completions"):
            self.answer(body, chat(body, plan), chat_whole(body, plan))
        elif path.endswith("/responses"):
            self.answer(body, *responses(body, plan))
        elif path.endswith(":streamGenerateContent"):
            self.sse([(None, part) for part in gemini(plan)])
        elif path.endswith(":generateContent"):
            self.json(gemini(plan)[-1])
        elif path.endswith(":countTokens"):
            self.json({"totalTokens": 1234})
        else:
            self.json({})

    def speak(self):
        """Answers the requests of a WebSocket, each of which is a call."""
        socket = ResponsesSocket(self)
        for raw, body in socket.requests():
            self.owner.calls.append(f"POST {self.path} {len(raw)} by WebSocket")
            self.owner.bodies.append(raw)
            self.owner.heads.append((self.path, dict(self.headers.items())))
            events, _ = responses(body, self.owner.plan(body))
            socket.answer(body, events)

    def chunked(self) -> bytes:
        body = b""
        if self.headers.get("transfer-encoding", "") != "chunked":
            return body
        while size := int(self.rfile.readline().split(b";")[0], 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def answer(self, body, events, whole):
        if body.get("stream"):
            self.sse(events)
        else:
            self.json(whole)

    def json(self, value, status=200):
        text = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def sse(self, events):
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for name, data in events:
            data = data if isinstance(data, str) else json.dumps(data)
            text = (f"event: {name}\n" if name else "") + f"data: {data}\n\n"
            self.wfile.write(f"{len(text.encode()):x}\r\n{text}\r\n".encode())
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")
