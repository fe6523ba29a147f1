"""Finds the journal's line of a call."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta
from urllib.parse import urlsplit

import anyio
import anyio.to_thread

from loomrec.agentloom.call import ProviderCall
from loomrec.journal import JournalClient, JournalLine
from loomrec.server import LoomrecError

logger = logging.getLogger("loomrec.agentloom")

#: A line is written once its call is over, which may be shortly after the client has the answer.
_PATIENCE_S = 2.0
_FIRST_PAUSE_S = 0.002
_LONGEST_PAUSE_S = 0.05
#: How far the clocks of one machine may seem to differ.
_TOLERANCE = timedelta(milliseconds=50)
#: How many lines without a known call are kept.
_MOST_LINES = 1000


class JournalReader:
    """Reads a journal as it grows. A line is given to one call only."""

    def __init__(self, url: str, token: str | None = None) -> None:
        self._client = JournalClient(url, token)
        self._last = 0
        self._lines: dict[int, JournalLine] = {}
        # Another machine's clock says nothing about ours.
        self._compares_times = urlsplit(url).hostname in ("127.0.0.1", "::1", "localhost")
        self._works = True

    async def line_of(self, call: ProviderCall) -> JournalLine | None:
        """Returns the line of a call that is over, or `None` if the journal cannot be read."""
        pause = _FIRST_PAUSE_S
        deadline = anyio.current_time() + _PATIENCE_S
        while self._works:
            await self._read()
            line = self._take(call)
            if line is not None or anyio.current_time() > deadline:
                return line
            await anyio.sleep(pause)
            pause = min(pause * 2, _LONGEST_PAUSE_S)
        return None

    async def _read(self) -> None:
        try:
            lines = await anyio.to_thread.run_sync(self._client.lines_since, self._last)
        except LoomrecError as error:
            self._works = False
            logger.warning("calls are told by loomrec's headers alone: %s", error)
            return
        for line in lines:
            self._last = max(self._last, line["seq"])
            if "method" in line:
                self._lines[line["seq"]] = line
        for number in sorted(self._lines)[:-_MOST_LINES]:
            del self._lines[number]

    def _take(self, call: ProviderCall) -> JournalLine | None:
        for number, line in sorted(self._lines.items()):
            if self._fits(call, line):
                return self._lines.pop(number)
        return None

    def _fits(self, call: ProviderCall, line: JournalLine) -> bool:
        if line["step_id"] != (call.step_id or None):
            return False
        if call.path is None or not call.path.endswith(line["path"]):
            return False
        if call.status is not None and line["status"] != call.status:
            return False
        if call.matched_by != line["matched_by"]:
            return False
        return not self._compares_times or _time(line["at"]) >= call.sent_at - _TOLERANCE


def _time(text: str) -> datetime:
    # Python 3.10 does not read a `Z`.
    return datetime.fromisoformat(text.replace("Z", "+00:00"))
