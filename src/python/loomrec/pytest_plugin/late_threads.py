"""Threads and tasks that a test has started and that outlive it: no later test gets their calls.

All tests of a process use the same addresses, as clients that live longer than a test need. So only
the thread or the task shows that a call comes too late. Workers of thread pools are left alone: they
take their work from all tests.
"""

from __future__ import annotations

import socket
import sys
import threading
import urllib.parse
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

from loomrec.pytest_plugin.late_tasks import LateTasks

#: The code that the workers of pools run, by module and function.
_POOLS = (("concurrent.futures.thread", "_worker"), ("multiprocessing.pool", "worker"))
_SENDS = ("send", "sendall", "sendmsg")


class LateThreads:
    """Refuses what threads and tasks send to the server after the test that started them has ended."""

    def __init__(self) -> None:
        #: The address of the server.
        self.server = ""
        self._before: WeakSet[threading.Thread] = WeakSet()
        self._late: WeakKeyDictionary[threading.Thread, str] = WeakKeyDictionary()
        self._refused: list[str] = []
        self._tasks = LateTasks()

    def begin(self) -> None:
        """Notes the threads and tasks that were there before a test."""
        self._before = WeakSet(threading.enumerate())
        self._tasks.begin()

    @contextmanager
    def exempt(self) -> Iterator[None]:
        """Lets threads and tasks that are started within this context outlive the test."""
        known = set(threading.enumerate())
        tasks = self._tasks.pending()
        yield
        self._tasks.spare(tasks)
        self._before.update(thread for thread in threading.enumerate() if thread not in known)

    def leave(self, nodeid: str) -> None:
        """Refuses, from now on, calls of threads and tasks that this test has started."""
        here = threading.current_thread()
        for thread in threading.enumerate():
            if thread is not here and thread not in self._before and not _is_pooled(thread):
                self._late[thread] = nodeid
        if self._tasks.leave(nodeid) or self._late:
            self._watch()

    def close(self) -> list[str]:
        """Ends the watch. Returns the tests whose threads and tasks have called too late."""
        self._tasks.close()
        for name in _SENDS:
            if getattr(vars(socket.socket).get(name), "loomrec", False):
                delattr(socket.socket, name)
        return self._refused

    def _watch(self) -> None:
        for name in _SENDS:
            if name not in vars(socket.socket):
                setattr(socket.socket, name, self._guarded(name))

    def _guarded(self, name: str) -> Any:
        inherited = getattr(socket.socket, name)

        def guarded(sock: socket.socket, *arguments: Any) -> Any:
            late = self._ended_test()
            if late is not None and self._is_to_server(sock):
                nodeid, name = late
                self._refused.append(f"{nodeid} ({name})")
                raise ConnectionAbortedError(
                    f"loomrec: the test {nodeid} has ended, and its {name} calls an LLM"
                )
            return inherited(sock, *arguments)

        guarded.loomrec = True  # type: ignore[attr-defined]
        return guarded

    def _ended_test(self) -> tuple[str, str] | None:
        """Returns the test of the current thread or task and its name, if that test has ended."""
        thread = threading.current_thread()
        nodeid = self._late.get(thread)
        return self._tasks.ended_test() if nodeid is None else (nodeid, thread.name)

    def _is_to_server(self, sock: socket.socket) -> bool:
        server = urllib.parse.urlsplit(self.server)
        try:
            peer = sock.getpeername()
        except OSError:
            return False
        return isinstance(peer, tuple) and peer[:2] == (server.hostname, server.port)


def _is_pooled(thread: threading.Thread) -> bool:
    """Whether a thread is a worker of a pool, by the functions on its stack."""
    frame = sys._current_frames().get(thread.ident or 0)
    while frame is not None:
        where = (frame.f_globals.get("__name__"), frame.f_code.co_name)
        if where in _POOLS or type(thread).__module__.startswith("anyio."):
            return True
        frame = frame.f_back
    return False
