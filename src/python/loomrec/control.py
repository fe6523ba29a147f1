"""Calls of the control endpoints of a loomrec server."""

from __future__ import annotations

import http.client
import json
import urllib.parse
from typing import Any

from loomrec.server import LoomrecError

#: The most bytes of one answer that are read.
_MOST_BYTES = 256 << 20


class ControlRefusedError(LoomrecError):
    """The server refused a control call. `status` is the HTTP status."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class ControlClient:
    """Sends JSON to a server's control endpoints. It never uses a proxy. Its methods block."""

    def __init__(self, url: str, token: str | None = None, timeout: float = 30.0) -> None:
        """The timeout, in seconds, is longer than the server waits for calls on their way."""
        parts = urllib.parse.urlsplit(url)
        if parts.scheme != "http" or parts.hostname is None:
            raise LoomrecError(f"{url} is not the address of a loomrec server: it has no http://")
        self.url = url
        self._address = (parts.hostname, parts.port or 80)
        self._headers = {} if token is None else {"x-loomrec-token": token}
        self._timeout = timeout

    def get(self, path: str, **query: str) -> dict[str, Any]:
        """Returns the answer. Raises `LoomrecError` with the server's message."""
        target = path + ("?" + urllib.parse.urlencode(query) if query else "")
        return self._send("GET", target, None)

    def post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        """Sends `body` as JSON, and returns the answer. Raises `LoomrecError` likewise."""
        return self._send("POST", path, json.dumps(body).encode())

    def _send(self, method: str, target: str, body: bytes | None) -> dict[str, Any]:
        headers = dict(self._headers)
        if body is not None:
            headers["content-type"] = "application/json"
        connection = http.client.HTTPConnection(*self._address, timeout=self._timeout)
        try:
            connection.request(method, target, body, headers)
            response = connection.getresponse()
            text = response.read(_MOST_BYTES)
        # A RuntimeError: pytest-socket refuses connections with one.
        except (OSError, http.client.HTTPException, RuntimeError) as error:
            message = f"the loomrec server at {self.url} does not answer: {error}"
            raise LoomrecError(message) from error
        finally:
            connection.close()
        return _decode(response.status, f"{method} {target}", text)


def _decode(status: int, call: str, text: bytes) -> dict[str, Any]:
    try:
        answer = json.loads(text)
    except ValueError:
        answer = None
    if status >= 400:
        known = isinstance(answer, dict) and isinstance(answer.get("error"), str)
        message = answer["error"] if known else text[:300].decode("utf-8", "replace")
        raise ControlRefusedError(status, message or f"{call} was refused with status {status}")
    if not isinstance(answer, dict):
        raise LoomrecError(f"{call} was not answered with a JSON object: is this a loomrec server?")
    return answer
