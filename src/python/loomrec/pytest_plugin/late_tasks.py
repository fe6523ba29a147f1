"""Tasks of asyncio that a test has started and that outlive it, in a loop of a wider scope."""

from __future__ import annotations

import asyncio
from contextvars import ContextVar
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

#: The test that has started the task, if it has ended. Tasks that a task starts inherit it.
_ENDED: ContextVar[str | None] = ContextVar("loomrec-ended-test", default=None)


class LateTasks:
    """Knows the tasks whose test has ended."""

    def __init__(self) -> None:
        self._loops: WeakSet[asyncio.AbstractEventLoop] = WeakSet()
        self._before: WeakSet[asyncio.Task[Any]] = WeakSet()
        self._late: WeakKeyDictionary[asyncio.Task[Any], str] = WeakKeyDictionary()
        self._inherited: Any = None

    def begin(self) -> None:
        """Notes the tasks that were there before a test, and the loops that run from now on."""
        self._watch_loops()
        self._before = self.pending()

    def spare(self, known: WeakSet[asyncio.Task[Any]]) -> None:
        """Lets tasks that are not among the known ones outlive the test."""
        self._before.update(task for task in self.pending() if task not in known)

    def leave(self, nodeid: str) -> bool:
        """Takes the tasks that this test has started for late. Returns whether there are any."""
        for task in self.pending():
            if task not in self._before and task not in self._late:
                self._late[task] = nodeid
                if hasattr(task, "get_context"):  # since Python 3.12
                    task.get_context().run(_ENDED.set, nodeid)
        return bool(self._late)

    def pending(self) -> WeakSet[asyncio.Task[Any]]:
        """Returns the tasks of all loops that have not ended."""
        return WeakSet(task for loop in list(self._loops) for task in asyncio.all_tasks(loop))

    def ended_test(self) -> tuple[str, str] | None:
        """Returns the test of the current task and the task's name, if the task is late."""
        try:
            task = asyncio.current_task()
        except RuntimeError:
            return None
        nodeid = None if task is None else self._late.get(task, _ENDED.get())
        return None if task is None or nodeid is None else (nodeid, task.get_name())

    def close(self) -> None:
        """Ends the watch."""
        if self._inherited is not None:
            asyncio.BaseEventLoop.run_forever = self._inherited  # type: ignore[method-assign]
            self._inherited = None

    def _watch_loops(self) -> None:
        if self._inherited is not None:
            return
        inherited = self._inherited = asyncio.BaseEventLoop.run_forever
        loops = self._loops

        def run_forever(loop: asyncio.BaseEventLoop) -> None:
            loops.add(loop)
            inherited(loop)

        asyncio.BaseEventLoop.run_forever = run_forever  # type: ignore[method-assign]
