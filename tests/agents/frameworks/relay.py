"""A relay on loopback that keeps the bytes of each answer that a program receives.

    relay.py FILE CMD…

It stands between CMD and loomrec: it runs CMD with the base URLs of loomrec replaced by its
own, and passes all bytes on as they are. When CMD ends, it writes FILE, a JSON list with the
status, the length and the SHA-256 of the body of each answer, in the order in which the
answers began.
"""

from __future__ import annotations

import bisect
import contextlib
import hashlib
import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from urllib.parse import urlsplit


class Connection:
    """One connection of the program: what loomrec sent on it, and when each piece came.

    A program may leave before it has read the end of an answer. loomrec does not see that: the
    relay reads on, so that each answer is whole.
    """

    def __init__(self, program: socket.socket, target: tuple[str, int]):
        self.program, self.loomrec = program, socket.create_connection(target)
        self.sent = b""
        self.offsets: list[int] = []
        self.times: list[float] = []
        self.arrived = threading.Condition()
        for work in (self.pass_answers, self.pass_requests):
            threading.Thread(target=work, daemon=True).start()

    def pass_requests(self) -> None:
        with contextlib.suppress(OSError):
            while piece := self.program.recv(65536):
                self.loomrec.sendall(piece)

    def pass_answers(self) -> None:
        with contextlib.suppress(OSError):
            while piece := self.loomrec.recv(65536):
                self.keep(piece)
                with contextlib.suppress(OSError):
                    self.program.sendall(piece)
        with contextlib.suppress(OSError):
            self.program.shutdown(socket.SHUT_WR)

    def keep(self, piece: bytes) -> None:
        with self.arrived:
            self.offsets.append(len(self.sent))
            self.times.append(time.monotonic())
            self.sent += piece
            self.arrived.notify_all()

    def answers(self) -> list[tuple[float, dict]]:
        """Returns when each answer began, and the answer. Waits for the end of the last one."""
        with self.arrived:
            self.arrived.wait_for(self.is_whole, timeout=10)
            return self.read_answers()

    def is_whole(self) -> bool:
        try:
            self.read_answers()
        except ValueError:
            return False
        return True

    def read_answers(self) -> list[tuple[float, dict]]:
        found, at = [], 0
        while at < len(self.sent):
            began = self.times[bisect.bisect_right(self.offsets, at) - 1]
            status, body, at = read_answer(self.sent, at)
            found.append((began, {"status": status, "bytes": len(body),
                                  "sha256": hashlib.sha256(body).hexdigest()}))
        return found


def read_answer(text: bytes, at: int) -> tuple[int, bytes, int]:
    """Returns the status and body of the answer at this offset, and the offset of its end.

    Fails with `ValueError` if the answer is cut.
    """
    head, found, _ = text[at:].partition(b"\r\n\r\n")
    if not found:
        raise ValueError(f"the head of an answer is cut: {head[:80]!r}")
    at += len(head) + 4
    status = int(head.split()[1])
    headers = dict(re.findall(rb"\r\n([^:\r]+):[ \t]*([^\r]*)", head.lower()))
    if headers.get(b"transfer-encoding") == b"chunked":
        return status, *read_chunks(text, at)
    if status < 200 or status in (204, 304):
        return status, b"", at
    end = at + int(headers.get(b"content-length", b"no length"))
    if end > len(text):
        raise ValueError("the body of an answer is cut")
    return status, text[at:end], end


def read_chunks(text: bytes, at: int) -> tuple[bytes, int]:
    body = b""
    while True:
        line_end = text.index(b"\r\n", at)
        size = int(text[at:line_end].split(b";")[0], 16)
        at = line_end + 2
        body += text[at:at + size]
        at += size + 2
        if size == 0:
            return body, at


class Relay:
    """The listener in front of loomrec."""

    def __init__(self, target: tuple[str, int]):
        self.target = target
        self.connections: list[Connection] = []
        self.listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self.accept, daemon=True).start()

    @property
    def port(self) -> int:
        return self.listener.getsockname()[1]

    def accept(self) -> None:
        while True:
            program, _ = self.listener.accept()
            self.connections.append(Connection(program, self.target))

    def answers(self) -> list[dict]:
        """Returns all answers. Called after the program has ended."""
        timed = [timed for connection in self.connections for timed in connection.answers()]
        return [answer for _, answer in sorted(timed, key=lambda pair: pair[0])]


def main() -> int:
    file, command = Path(sys.argv[1]), sys.argv[2:]
    target = urlsplit(os.environ["OPENAI_BASE_URL"])
    relay = Relay((target.hostname, target.port))
    origin, own = f"http://{target.netloc}", f"http://127.0.0.1:{relay.port}"
    environment = {name: value.replace(origin, own) for name, value in os.environ.items()}
    code = subprocess.run(command, env=environment).returncode
    file.write_text(json.dumps(relay.answers(), indent=1))
    return code


if __name__ == "__main__":
    sys.exit(main())
