"""Processes that end with their tests, even if the tests are killed."""

from __future__ import annotations

import ctypes
import itertools
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

PATIENCE = 60  # seconds: a bound against hanging, not a measure
_PR_SET_PDEATHSIG = 1


def start_process(line: list[str], log: Path, environment: Mapping[str, str] | None = None,
                  folder: Path | None = None) -> subprocess.Popen[bytes]:
    """Starts a server in a process group of its own. Linux kills it if this thread ends."""
    with open(log, "ab") as output:
        return subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=output, stderr=output,
                                env=environment, cwd=folder, start_new_session=True,
                                preexec_fn=_die_with_parent)


def kill_group(process: subprocess.Popen, number: int = signal.SIGKILL) -> None:
    """Ends a process and all that it has started, and waits for it."""
    try:
        os.killpg(process.pid, number)
    except ProcessLookupError:
        pass
    process.wait(PATIENCE)


def wait_until(condition: Callable[[], bool], what: str, patience: float = PATIENCE,
               process: subprocess.Popen | None = None, log: Path | None = None) -> None:
    """Returns once the condition holds. Fails, with the end of the process' log, when time is up, or
    if the process has ended.
    """
    end = time.monotonic() + patience
    while not condition():
        assert process is None or process.poll() is None, f"{what}: the process has ended{_end_of(log)}"
        assert time.monotonic() < end, f"{what}: not within {patience} s{_end_of(log)}"
        time.sleep(0.02)


def _end_of(log: Path | None) -> str:
    return "" if log is None else f". Its log ends:\n{log.read_text(errors='replace')[-3000:]}"


def is_listening(port: int) -> bool:
    """Returns whether something accepts connections on this port of 127.0.0.1."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1):
            return True
    except OSError:
        return False


_ports = itertools.count(os.getpid() * 97 % 10_000)


def free_port(spread: int = 0) -> int:
    """Returns a port that is free now, below those that the system hands out to clients, and another
    one each time. The port that is `spread` above it is free as well.
    """
    for step in itertools.islice(_ports, 10_000):
        port = 10_000 + step % 10_000
        if all(_can_bind(each) for each in {port, port + spread}):
            return port
    raise OSError("no free port")


def _can_bind(port: int) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def _die_with_parent() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
