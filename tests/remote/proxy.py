"""A proxy in front of a store. It counts requests, answers in the store's place, changes answers,
cuts connections, and can be stopped and started again on its port.
"""

from __future__ import annotations

import http.client
import re
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime, parsedate_to_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

_OF_THE_CONNECTION = {"connection", "keep-alive", "transfer-encoding", "te", "trailer", "upgrade"}


@dataclass(frozen=True)
class Request:
    """A request of a store's client."""

    method: str
    target: str
    headers: dict[str, str]

    @property
    def key(self) -> str:
        """The object's key: empty for requests about the bucket, such as listings."""
        return unquote(urlsplit(self.target).path).lstrip("/").partition("/")[2]

    @property
    def is_write(self) -> bool:
        return self.method in ("PUT", "POST", "DELETE")


@dataclass
class Answer:
    """An answer of the store, or one in its place."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes
    #: After how many bytes of the body the connection is cut.
    cut_after: int | None = None


def s3_error(status: int, code: str, message: str) -> Answer:
    """Returns an error as S3 writes it."""
    body = (f'<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>{code}</Code><Message>{message}</Message>'
            "<RequestId>4442587FB7D0A2F9</RequestId></Error>")
    headers = [("content-type", "application/xml"), ("content-length", str(len(body)))]
    return Answer(status, headers, body.encode())


def any_request(_: Request) -> bool:
    return True


def is_put(request: Request) -> bool:
    return request.method == "PUT"


def is_write(request: Request) -> bool:
    return request.is_write


def puts(pattern: str) -> Callable[[Request], bool]:
    """Returns a condition: the request writes an object whose key matches."""
    return lambda request: request.method == "PUT" and re.search(pattern, request.key) is not None


class Throttle:
    """A slow link, whose speed all connections share. Each direction has its own."""

    PIECE = 8192

    def __init__(self, bytes_per_second: int) -> None:
        self._rate = bytes_per_second
        self._lock = threading.Lock()
        self._free_at = {"up": 0.0, "down": 0.0}

    def wait(self, direction: str, count: int) -> None:
        """Returns when the link has passed on so many bytes."""
        with self._lock:
            free_at = max(self._free_at[direction], time.monotonic()) + count / self._rate
            self._free_at[direction] = free_at
        time.sleep(max(0.0, free_at - time.monotonic()))


@dataclass
class Rules:
    """What the proxy does to requests, besides passing them on."""

    #: Answers in the store's place.
    refuse: list[tuple[Callable[[Request], bool], Answer]] = field(default_factory=list)
    #: Headers that the store does not get to see.
    strip: set[str] = field(default_factory=set)
    #: Called before a request is passed on. If it returns true, the connection is cut.
    before: list[Callable[[Request], bool | None]] = field(default_factory=list)
    #: Called when the store has answered. If it returns true, the connection is cut before the answer.
    after: list[Callable[[Request], bool | None]] = field(default_factory=list)
    #: Change the answer.
    change: list[Callable[[Request, Answer], Answer]] = field(default_factory=list)
    #: Passes on the bodies of requests and answers.
    throttle: Throttle | None = None


class OldObjects:
    """A change of answers: these objects were last changed 200 days ago, until they are written again."""

    def __init__(self, keys: Iterable[str]) -> None:
        self._keys = set(keys)
        self._time = datetime.now(UTC) - timedelta(days=200)

    def __call__(self, request: Request, answer: Answer) -> Answer:
        if request.method == "PUT" and answer.status == 200:
            self._keys.discard(request.key)
        body, headers = answer.body, answer.headers
        if not request.key:
            body = re.sub(rb"<Contents>.*?</Contents>", self._change_listed, body, flags=re.DOTALL)
        elif request.key in self._keys:
            headers = [(name, format_datetime(self._time, usegmt=True) if name.lower() == "last-modified" else value)
                       for name, value in headers]
        return Answer(answer.status, headers, body)

    def _change_listed(self, listed: re.Match[bytes]) -> bytes:
        key = re.search(rb"<Key>(.*?)</Key>", listed[0])[1].decode()
        if unquote(key) not in self._keys:
            return listed[0]
        # Each time has the same length, so content-length stays right.
        time = self._time.strftime("%Y-%m-%dT%H:%M:%S.000Z").encode()
        return re.sub(rb"(?<=<LastModified>)[^<]{24}", time, listed[0])


def shift_clock(seconds: int) -> Callable[[Request, Answer], Answer]:
    """Returns a change of answers: the clock of the store is ahead by so many seconds."""
    shift = timedelta(seconds=seconds)

    def shift_listed(found: re.Match[bytes]) -> bytes:
        return (datetime.fromisoformat(found[0].decode()) + shift).strftime("%Y-%m-%dT%H:%M:%S.000Z").encode()

    def change(_: Request, answer: Answer) -> Answer:
        body = re.sub(rb"(?<=<LastModified>)[^<]{24}", shift_listed, answer.body)
        headers = [(name, format_datetime(parsedate_to_datetime(value) + shift, usegmt=True)
                    if name.lower() in ("date", "last-modified") else value) for name, value in answer.headers]
        return Answer(answer.status, headers, body)

    return change


class Proxy:
    """A listener on loopback that passes requests on to a store on another port of it."""

    def __init__(self, target_port: int) -> None:
        self.target_port = target_port
        self.port = 0
        self.requests: list[Request] = []
        self.rules = Rules()
        self._lock = threading.Lock()
        self._connections: set[socket.socket] = set()
        self._server: _Server | None = None
        self._reserved: socket.socket | None = None
        self.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def writes(self) -> list[Request]:
        return [request for request in self.requests if request.is_write]

    def start(self) -> None:
        """Listens: the first time on a free port, later on the same one."""
        self._server = _Server(("127.0.0.1", self.port), _Handler)
        self._server.proxy = self
        self.port = self._server.server_port
        self._free_port()
        threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True).start()

    def stop(self) -> None:
        """Refuses new connections and resets those that are open."""
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None
            # Bound and not listening: connections are refused, and nobody else gets the port.
            self._reserved = socket.socket()
            self._reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            self._reserved.bind(("127.0.0.1", self.port))
        with self._lock:
            connections = list(self._connections)
        for connection in connections:
            _reset(connection)

    def close(self) -> None:
        """Stops for good."""
        self.stop()
        self._free_port()

    def _free_port(self) -> None:
        if self._reserved is not None:
            self._reserved.close()
            self._reserved = None

    def refuse(self, answer: Answer, when: Callable[[Request], bool] = any_request) -> None:
        """From now on gives this answer to the requests that meet the condition."""
        self.rules.refuse.append((when, answer))

    def cut_every(self, number: int, when: Callable[[Request], bool] = is_put) -> None:
        """From now on cuts the connection of every Nth such request after the store has carried it out."""
        count = 0

        def is_due(request: Request) -> bool:
            nonlocal count
            if not when(request):
                return False
            with self._lock:
                count += 1
                return count % number == 0

        self.rules.after.append(is_due)

    def forget(self) -> None:
        """Removes all rules, and the requests seen so far."""
        self.rules = Rules()
        self.requests = []


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 256
    proxy: Proxy

    def handle_error(self, request: object, client_address: object) -> None:
        pass  # clients are killed, and connections are cut on purpose


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server

    def setup(self) -> None:
        super().setup()
        self._store: http.client.HTTPConnection | None = None
        self._proxy = self.server.proxy
        with self._proxy._lock:
            self._proxy._connections.add(self.connection)

    def finish(self) -> None:
        with self._proxy._lock:
            self._proxy._connections.discard(self.connection)
        if self._store is not None:
            self._store.close()
        super().finish()

    def _handle(self) -> None:
        body = self._read_body()
        request = Request(self.command, self.path, {name.lower(): value for name, value in self.headers.items()})
        rules = self._proxy.rules
        self._proxy.requests.append(request)
        for condition, answer in rules.refuse:
            if condition(request):
                self._send(answer)
                return
        if any([rule(request) for rule in rules.before]):
            self._cut()
            return
        answer = self._pass_on(request, body)
        if any([rule(request) for rule in rules.after]):
            self._cut()
            return
        for change in rules.change:
            answer = change(request, answer)
        self._send(answer)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = _handle

    def _read_body(self) -> bytes:
        if self.headers.get("transfer-encoding", "").lower() != "chunked":
            return self._read(int(self.headers.get("content-length", 0)))
        pieces = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            pieces.append(self._read(size))
            self.rfile.readline()
        self.rfile.readline()
        return b"".join(pieces)

    def _read(self, size: int) -> bytes:
        content = self.rfile.read(size)
        throttle = self._proxy.rules.throttle
        if throttle is not None:
            # Read at once: over a slow link, the sender's buffers take all of it, and its bytes are acknowledged.
            for at in range(0, size, throttle.PIECE):
                throttle.wait("up", min(throttle.PIECE, size - at))
        return content

    def _write(self, content: bytes) -> None:
        throttle = self._proxy.rules.throttle
        if throttle is None:
            self.wfile.write(content)
            return
        for at in range(0, len(content), throttle.PIECE):
            piece = content[at:at + throttle.PIECE]
            throttle.wait("down", len(piece))
            self.wfile.write(piece)

    def _pass_on(self, request: Request, body: bytes) -> Answer:
        if self._store is None:
            self._store = http.client.HTTPConnection("127.0.0.1", self._proxy.target_port, timeout=60)
        unseen = _OF_THE_CONNECTION | self._proxy.rules.strip
        headers = {name: value for name, value in self.headers.items() if name.lower() not in unseen}
        try:
            self._store.request(request.method, request.target, body or None, {"content-length": "0", **headers}
                                if request.method in ("PUT", "POST") else headers)
            response = self._store.getresponse()
            content = response.read()
        except (OSError, http.client.HTTPException):
            self._store.close()
            self._store = None
            message = "the store behind the proxy does not answer"
            return s3_error(503, "ServiceUnavailable", message)
        kept = [(name, value) for name, value in response.getheaders() if name.lower() not in _OF_THE_CONNECTION]
        if not any(name.lower() == "content-length" for name, _ in kept) and response.status not in (204, 304):
            kept.append(("content-length", str(len(content))))
        return Answer(response.status, kept, content)

    def _send(self, answer: Answer) -> None:
        self.send_response_only(answer.status)
        for name, value in answer.headers:
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self._write(answer.body[:answer.cut_after])
            if answer.cut_after is not None and answer.cut_after < len(answer.body):
                self.wfile.flush()
                self.connection.shutdown(socket.SHUT_WR)
                self.close_connection = True

    def _cut(self) -> None:
        _reset(self.connection)
        self.close_connection = True

    def log_message(self, *_: object) -> None:
        pass


def _reset(connection: socket.socket) -> None:
    try:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
