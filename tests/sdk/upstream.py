"""A scripted upstream on loopback: raw sockets, so that every byte, chunk boundary
and ending is ours to choose. What it says is in `answers.py`.

As a fixture it runs inside pytest; by hand: `python upstream.py --port 4999 --counts FILE`.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import socket
import ssl
import struct
import threading
import time
from dataclasses import dataclass, field

import answers
import answers_resources

REASONS = {200: "OK", 400: "Bad Request", 401: "Unauthorized", 402: "Payment Required",
           403: "Forbidden", 404: "Not Found",
           429: "Too Many Requests", 500: "Internal Server Error",
           502: "Bad Gateway", 503: "Service Unavailable", 529: "Overloaded"}


@dataclass
class Request:
    """One request as it arrived: header names in lower case, the body unframed."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    def seen(self) -> tuple:
        """What must be the same whether a proxy stood between or not."""
        content_type = self.headers.get("content-type", "")
        body = self.body
        if "boundary=" in content_type:
            boundary = content_type.split("boundary=")[1].strip('"')
            body = body.replace(boundary.encode(), b"BOUNDARY")
            content_type = content_type.replace(boundary, "BOUNDARY")
        own = {"host", "connection", "accept-encoding", "content-length", "transfer-encoding",
               "content-type"}
        # No accept at all means any media type (RFC 9110, 12.5.1); saying so is no change.
        said = {"accept": "*/*", **self.headers}
        if "AWS4-HMAC-SHA256" in said.get("authorization", ""):  # signed anew at each call
            said["authorization"] = said["authorization"].split("/")[0]
            own |= {"x-amz-date", "amz-sdk-invocation-id"}
            said["user-agent"] = said["user-agent"].split(" m/")[0]  # features, in no order
        headers = tuple(sorted((k, v) for k, v in said.items() if k not in own))
        return (self.method, self.path, content_type, headers, body)


@dataclass
class Upstream:
    """The listener and what it has counted. `dark` is an upstream that must not be
    called any more: whoever still comes is counted and thrown out."""

    port: int = 0
    counts_file: str | None = None
    connections: int = 0
    connections_in_the_dark: int = 0
    requests: list[Request] = field(default_factory=list)
    tls: ssl.SSLContext | None = None
    trust: dict[str, str] = field(default_factory=dict)  # the variables that make it trusted
    failed_handshakes: int = 0

    def __post_init__(self) -> None:
        self._lock = threading.Lock()
        self._dark = False
        self._times: dict[str, int] = {}
        self._open: set[socket.socket] = set()
        self._listener = socket.create_server(("127.0.0.1", self.port), backlog=128)
        self.port = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}"

    def forget(self) -> None:
        """Begin again, as a fresh upstream on the same port."""
        with self._lock:
            self.connections = 0
            self.requests = []
            self._times = {}

    def go_dark(self) -> None:
        """Stop answering; keep the port, so that a call that still comes is seen."""
        with self._lock:
            self._dark = True
            for connection in self._open:
                _abort(connection)

    def close(self) -> None:
        self.go_dark()
        self._listener.close()

    def counts(self) -> dict[str, int]:
        return {"connections": self.connections, "requests": len(self.requests),
                "connections_in_the_dark": self.connections_in_the_dark}

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            with self._lock:
                if self._dark:
                    self.connections_in_the_dark += 1
                    _abort(connection)
                    continue
                self.connections += 1
                if self.tls:  # the handshake is the connection's own thread's
                    connection = self.tls.wrap_socket(
                        connection, server_side=True, do_handshake_on_connect=False)
                self._open.add(connection)
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if self.tls:
            try:
                connection.do_handshake()
            except OSError:
                self.failed_handshakes += 1
                return
        reader = connection.makefile("rb")
        try:
            while (request := _read(reader, connection)) is not None:
                if self._came_in_the_dark() or not _write(connection, self._reply(request)):
                    return
        except OSError:
            return  # the client left, which is its right
        finally:
            with self._lock:
                self._open.discard(connection)
            reader.close()
            connection.close()

    def _came_in_the_dark(self) -> bool:
        """A request on a connection that was open before is a call all the same."""
        with self._lock:
            self.connections_in_the_dark += self._dark
            return self._dark

    def _reply(self, request: Request) -> answers.Reply:
        identity = hashlib.sha256(repr((request.path, request.seen()[4])).encode()).hexdigest()
        with self._lock:
            self.requests.append(request)
            time_before = self._times.get(identity, 0)
            self._times[identity] = time_before + 1
            if self.counts_file:
                with open(self.counts_file, "w", encoding="utf-8") as out:
                    json.dump(self.counts(), out)
        reply = answers_resources.answer(request, self.url) or answers.answer(request, time_before)
        reply.headers.append(("x-request-id", f"req_{identity[:16]}_{time_before}"))
        return reply


def _abort(connection: socket.socket) -> None:
    """Close with a TCP reset."""
    try:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        connection.shutdown(socket.SHUT_RD)
    except OSError:
        pass
    connection.close()


def _read(reader, connection: socket.socket) -> Request | None:
    line = reader.readline().decode("latin-1").rstrip("\r\n")
    if not line:
        return None
    method, path, _ = line.split(" ", 2)
    headers: dict[str, str] = {}
    while header := reader.readline().decode("latin-1").rstrip("\r\n"):
        name, _, value = header.partition(":")
        headers[name.strip().lower()] = value.strip()
    if headers.get("expect", "").lower() == "100-continue":
        connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
    if "chunked" in headers.get("transfer-encoding", ""):
        body = b""
        while size := int(reader.readline().split(b";")[0], 16):
            body += reader.read(size)
            reader.readline()
        while reader.readline().strip():
            pass
    else:
        body = reader.read(int(headers.get("content-length", "0")))
    return Request(method, path, headers, body)


def _write(connection: socket.socket, reply: answers.Reply) -> bool:
    """Send one reply; whether the connection can go on being used."""
    head = [f"HTTP/1.1 {reply.status} {REASONS.get(reply.status, 'Status')}"]
    head += [f"{name}: {value}" for name, value in reply.headers]
    if reply.chunks is None:
        head.append(f"content-length: {len(reply.body)}")
        connection.sendall("\r\n".join(head).encode() + b"\r\n\r\n" + reply.body)
        return True
    head.append("transfer-encoding: chunked")
    connection.sendall("\r\n".join(head).encode() + b"\r\n\r\n")
    for chunk in reply.chunks:
        connection.sendall(b"%x\r\n%s\r\n" % (len(chunk), chunk))
        time.sleep(reply.pause)  # so that chunks travel one by one
    if reply.end == "complete":
        connection.sendall(b"0\r\n\r\n")
        return True
    if reply.end == "reset":
        _abort(connection)
    return False  # "cut": closed without the terminating chunk


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--counts", help="write the counts to this file at every request")
    flags = parser.parse_args()
    upstream = Upstream(port=flags.port, counts_file=flags.counts)
    print(upstream.url, flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main()
