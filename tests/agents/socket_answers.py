"""The upstream's end of a WebSocket of the Responses API."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler

#: Of RFC 6455.
ACCEPT_SUFFIX = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
TEXT, CLOSE, PING, PONG = 1, 8, 9, 10


class ResponsesSocket:
    """An open connection. It keeps the conversations, since a client sends only what is new."""

    def __init__(self, handler: BaseHTTPRequestHandler):
        self.read, self.stream = handler.rfile.read, handler.wfile
        #: The items of a conversation up to a response, by the id of the response.
        self.items: dict[str, list] = {}
        digest = hashlib.sha1((handler.headers["sec-websocket-key"] + ACCEPT_SUFFIX).encode()).digest()
        handler.send_response(101)
        handler.send_header("upgrade", "websocket")
        handler.send_header("connection", "Upgrade")
        handler.send_header("sec-websocket-accept", base64.b64encode(digest).decode())
        handler.end_headers()
        handler.close_connection = True

    def requests(self) -> Iterator[tuple[bytes, dict]]:
        """Yields each request as it came, and as a body with the whole conversation."""
        for raw in self.messages():
            event = json.loads(raw)
            if event.get("type") == "response.create":
                before = self.items.get(event.get("previous_response_id"), [])
                yield raw, {**event, "input": [*before, *event["input"]]}

    def answer(self, body: dict, events: list) -> None:
        """Sends the events of a response. `body` is that of `requests`."""
        for _, event in events:
            self.send(TEXT, json.dumps(event).encode())
        whole = events[-1][1]["response"]
        self.items[whole["id"]] = [*body["input"], *whole["output"]]

    def messages(self) -> Iterator[bytes]:
        """Yields each message until the client closes or leaves."""
        message = b""
        while len(head := self.read(2)) == 2:
            opcode, size = head[0] & 15, head[1] & 127
            if size > 125:
                size = int.from_bytes(self.read(2 if size == 126 else 8), "big")
            mask, data = self.read(4), self.read(size)
            data = unmasked(data, mask)
            if opcode == CLOSE:
                self.send(CLOSE, data)
                return
            if opcode == PING:
                self.send(PONG, data)
            elif opcode != PONG:
                message += data
                if head[0] & 128:
                    yield message
                    message = b""

    def send(self, opcode: int, data: bytes) -> None:
        size = len(data)
        if size < 126:
            head = bytes([size])
        elif size < 65536:
            head = b"\x7e" + size.to_bytes(2, "big")
        else:
            head = b"\x7f" + size.to_bytes(8, "big")
        self.stream.write(bytes([128 | opcode]) + head + data)
        self.stream.flush()


def unmasked(data: bytes, mask: bytes) -> bytes:
    repeated = (mask * (len(data) // 4 + 1))[:len(data)]
    return (int.from_bytes(data, "big") ^ int.from_bytes(repeated, "big")).to_bytes(len(data), "big")
