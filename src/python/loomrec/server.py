"""A loomrec process: finds the binary, starts `record` or `replay` on a free port, stops it."""

from __future__ import annotations

import atexit
import os
import queue
import shutil
import signal
import subprocess
import sys
import sysconfig
import threading
from collections import deque
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

_LISTENING = "loomrec listening on "
#: What a settings file may not change: the address is read from a line of the messages.
_READABLE = {"LOOMREC_QUIET": "false", "LOOMREC_LOG_FORMAT": "human"}
#: How many lines of a process's messages are kept.
_MOST_MESSAGES = 1000


class LoomrecError(RuntimeError):
    """loomrec could not be found, started, reached, or could not keep what it recorded."""


def find_binary() -> str:
    """Returns the path of the loomrec binary.

    That is `LOOMREC_BIN`; else a binary in this package; else one among this Python's scripts;
    else one on the `PATH`.
    """
    named = os.environ.get("LOOMREC_BIN")
    if named:
        if not Path(named).is_file():
            raise LoomrecError(f"LOOMREC_BIN names {named}, which is not a file")
        return named
    name = "loomrec.exe" if sys.platform == "win32" else "loomrec"
    folders = [Path(__file__).parent / "bin", Path(sysconfig.get_path("scripts"))]
    for folder in folders:
        if (folder / name).is_file():
            return str(folder / name)
    found = shutil.which("loomrec")
    if found is None:
        raise LoomrecError("found no loomrec binary; put it on the PATH, or name it in LOOMREC_BIN")
    return found


class LoomrecServer:
    """A `loomrec record` or `loomrec replay` that this program started.

    It is a context manager. A server that is still running when Python exits is stopped then, also
    if Python is killed: the server's stdin is a pipe that ends with Python.
    """

    def __init__(
        self,
        command: str,
        *arguments: str,
        binary: str | None = None,
        cwd: str | os.PathLike[str] | None = None,
        start_within: float = 30.0,
    ) -> None:
        """Starts the process and returns once it listens.

        Of the `LOOMREC_…` variables, the process gets `LOOMREC_TRUST` only: the others are meant
        for another run.

        Raises `LoomrecError` with what it said if it does not start.
        """
        words = [binary or find_binary(), command, *arguments, "--listen", "127.0.0.1:0",
                 "--stop-with-stdin"]
        environment = {name: value for name, value in os.environ.items()
                       if not name.startswith("LOOMREC_") or name == "LOOMREC_TRUST"}
        self._messages: deque[str] = deque(maxlen=_MOST_MESSAGES)
        self.exit_code: int | None = None
        try:
            self._process = subprocess.Popen(
                words, cwd=cwd, env={**environment, **_READABLE}, stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, encoding="utf-8",
                errors="replace", **_own_group(),
            )
        except OSError as error:
            raise LoomrecError(f"failed to start {words[0]}: {error}") from error
        atexit.register(self.stop)
        addresses: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        assert self._process.stderr is not None
        self._reader = threading.Thread(
            target=self._read, args=(self._process.stderr, addresses), daemon=True
        )
        self._reader.start()
        self.url = self._wait_for_address(addresses, words, start_within)

    def _wait_for_address(
        self, addresses: queue.SimpleQueue[str | None], words: Sequence[str], within: float
    ) -> str:
        try:
            url = addresses.get(timeout=within)
        except queue.Empty:
            url = None
        if url is None:
            self.stop()
            reason = self.messages.strip() or "it printed no address"
            raise LoomrecError(f"`{' '.join(words)}` did not start: {reason}")
        return url

    def _read(self, stream: IO[str], addresses: queue.SimpleQueue[str | None]) -> None:
        """Keeps what the process says, so that it is never blocked on its stderr."""
        for line in stream:
            self._messages.append(line)
            if line.startswith(_LISTENING):
                addresses.put(line.removeprefix(_LISTENING).split()[0])
        addresses.put(None)

    @property
    def messages(self) -> str:
        """What the process said on stderr; the receipt, once it has stopped."""
        return "".join(self._messages)

    @property
    def is_running(self) -> bool:
        """Whether the process has not ended."""
        return self._process.poll() is None

    def stop(self, within: float = 30.0) -> int:
        """Stops the process as Ctrl-C does, and returns its exit code.

        `docs/exit-codes.md` lists the codes. A process that does not end in time is killed.
        """
        atexit.unregister(self.stop)
        if self.exit_code is not None:
            return self.exit_code
        if self._process.poll() is None:
            _interrupt(self._process)
        try:
            self.exit_code = self._process.wait(within)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self.exit_code = self._process.wait()
        self._reader.join(5.0)
        return self.exit_code

    def __enter__(self) -> LoomrecServer:
        return self

    def __exit__(self, *_error: object) -> None:
        self.stop()


def _own_group() -> dict[str, Any]:
    """A Ctrl-C in the terminal is for the program, which then stops its servers itself."""
    if sys.platform == "win32":
        return {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    return {"start_new_session": True}


def _interrupt(process: subprocess.Popen[str]) -> None:
    if sys.platform == "win32":
        process.send_signal(signal.CTRL_BREAK_EVENT)
    else:
        process.send_signal(signal.SIGINT)
