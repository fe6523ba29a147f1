"""Reads the journal of a running loomrec over its control endpoints."""

from __future__ import annotations

import json
import urllib.request
from typing import Any

from loomrec.server import LoomrecError

#: One line of the journal, as `docs/journal.md` describes it.
JournalLine = dict[str, Any]

# A proxy of the environment is not asked for a listener of this machine.
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))

#: The most bytes of one answer that are read.
_MOST_BYTES = 64 << 20


class JournalClient:
    """Reads the lines of a loomrec's journal. Its methods block."""

    def __init__(self, url: str, token: str | None = None, timeout: float = 10.0) -> None:
        self.url = url.rstrip("/")
        self._token = token
        self._timeout = timeout

    def lines_since(self, number: int) -> list[JournalLine]:
        """Returns the lines with a higher number than this.

        Raises `LoomrecError` if the endpoint does not answer with a journal.
        """
        path = f"/__loomrec/journal?since={number}"
        text = self._get(path)
        try:
            return [json.loads(line) for line in text.splitlines() if line]
        except ValueError as error:
            raise LoomrecError(f"{self.url}{path} sent a line that is not JSON: {error}") from error

    def _get(self, path: str) -> str:
        request = urllib.request.Request(self.url + path)
        if self._token is not None:
            request.add_header("x-loomrec-token", self._token)
        try:
            with _OPENER.open(request, timeout=self._timeout) as response:
                body: bytes = response.read(_MOST_BYTES)
        except OSError as error:
            raise LoomrecError(f"failed to read {self.url}{path}: {error}") from error
        return body.decode("utf-8", "replace")
