"""The server of a pytest run, and the sessions of its tests."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from loomrec.control import ControlRefusedError
from loomrec.pytest_plugin.failure_text import missing_server
from loomrec.pytest_plugin.in_force import foreign_control
from loomrec.pytest_plugin.item_session import ITEM_SESSION, ItemSession, fail
from loomrec.pytest_plugin.late_threads import LateThreads
from loomrec.pytest_plugin.marks import MarkArguments, is_marked, read_mark
from loomrec.pytest_plugin.recording_path import recording_path
from loomrec.pytest_plugin.settings import PluginSettings
from loomrec.pytest_plugin.summary import RunSummary, hidden_line, late_line
from loomrec.pytest_plugin.variables import EnvironmentOverlay
from loomrec.server import LoomrecError
from loomrec.sessions import SessionClient, SessionServer

#: By this variable, the controller of pytest-xdist tells its workers the server's address.
#: They need it before `workerinput` is there: when the first conftest.py is imported.
WORKERS_VARIABLE = "LOOMREC_PYTEST_SERVER"


class LoomrecRun:
    """One pytest process: the whole run, or the controller or a worker of pytest-xdist."""

    def __init__(self, settings: PluginSettings, root: Path, prefix: str) -> None:
        self.settings = settings
        self.root = root
        self.prefix = prefix
        self.summary = RunSummary()
        #: The tests of this process whose last attempt has failed, and those whose missed a call.
        self.failed: set[str] = set()
        self._missed: set[str] = set()
        self._server: SessionServer | None = None
        self._client: SessionClient | None = None
        self._overlay = EnvironmentOverlay({})
        self._receipt: Path | None = None
        self._ended: str | None = None
        self._is_finished = False
        #: What is wrong with the run that no test has reported, once it has finished.
        self.problem: str | None = None
        #: Tests that record into files of the same name but for the case, each with its file.
        self._sharing: dict[str, dict[str, str]] = {}
        self._open: ItemSession | None = None
        self._threads = LateThreads()

    @property
    def is_active(self) -> bool:
        """Whether there is a server."""
        return self._client is not None

    def start(self) -> None:
        """Starts a server and sets the variables. Raises `pytest.UsageError` if it cannot."""
        command = "replay" if self.settings.replays else "record"
        flags = [word for upstream in self.settings.upstream for word in ("--upstream", upstream)]
        self._receipt = Path(tempfile.mkdtemp(prefix="loomrec-"), "receipt.json")
        if self.settings.mode == "review":
            flags.append("--pending")
        flags += ["--receipt", str(self._receipt)]
        try:
            self._server = SessionServer(command, self.root, *flags, *self.settings.args)
            self._use(self._server)
        except LoomrecError as error:
            raise pytest.UsageError(f"loomrec: {error}") from error

    def connect(self, url: str) -> None:
        """Uses the server of the controller. Raises `pytest.UsageError` if it does not answer."""
        try:
            self._use(SessionClient(url))
        except LoomrecError as error:
            raise pytest.UsageError(f"loomrec: {error}") from error

    def fixture_threads(self) -> contextlib.AbstractContextManager[None]:
        """Exempts threads that a fixture of several tests starts within this context."""
        return self._threads.exempt()

    def _use(self, client: SessionClient) -> None:
        self._threads.server = client.url
        self._overlay = EnvironmentOverlay(client.environment(self.prefix))
        self._client = client
        self._overlay.apply()

    def hand_to_workers(self) -> None:
        """Leaves the environment to the workers, and tells them the address."""
        if self._client is not None:
            self._overlay.withdraw()
            os.environ[WORKERS_VARIABLE] = self._client.url

    def stop(self) -> None:
        """Puts the environment back and stops the server, if this process started it."""
        self._overlay.withdraw()
        os.environ.pop(WORKERS_VARIABLE, None)
        server, self._server, self._client = self._server, None, None
        if server is not None:
            server.stop()
        if self._receipt is not None:
            shutil.rmtree(self._receipt.parent, ignore_errors=True)

    def finish(self) -> str | None:
        """Stops the server at the end of the run. Returns what no test has reported, or None."""
        if self._server is None:
            return None
        self._ended = self.server_end()
        self._is_finished = True
        code = self._server.stop()
        receipt = self._read_receipt()
        escapes = [f"{escape['host']} ({escape['count']})" for escape in receipt.get("escapes") or []]
        if escapes:
            return "connections went around loomrec, and their calls are in no recording: " + (
                ", ".join(escapes) + "; have the program use the base URL of the environment"
            )
        foreign = foreign_control(receipt.get("in_force"), self.summary.asked)
        if self.summary.late:
            return late_line(self.summary.late)
        if foreign:
            return "control calls of the tests changed what a strict replay answers: " + ", ".join(foreign)
        if self.summary.hidden:
            return hidden_line(self.summary.hidden)
        if code != 0 and self._ended is None:
            return f"the server ended with exit code {code}: {self._last_words()}"
        return None

    def _read_receipt(self) -> dict[str, Any]:
        try:
            receipt: dict[str, Any] = json.loads(self._receipt.read_text()) if self._receipt else {}
        except (OSError, ValueError):
            return {}
        return receipt

    def server_end(self) -> str | None:
        """Returns how the server ended if it did not wait for the end of the run."""
        if self._is_finished or self._ended is not None:
            return self._ended
        if self._server is None or self._server.process.is_running:
            return None
        code = self._server.stop()
        return f"the server ended during the run, with exit code {code}: {self._last_words()}"

    def _last_words(self) -> str:
        lines = self._server.process.messages.strip().splitlines() if self._server else []
        return "\n  ".join(lines[-5:]) or "it said nothing"

    def take_items(self, items: Sequence[pytest.Item]) -> None:
        """Notes the collected tests."""
        by_recording: dict[str, dict[str, str]] = defaultdict(dict)
        for item in items:
            try:
                mark = read_mark(item)
                path = self._recording_path(item, mark)
            except ValueError:
                continue  # the setup of the test reports it
            self.summary.expected.append(path)
            if self.is_marked(item) and self.mode_of(mark) != "replay":
                by_recording[path.casefold()][item.nodeid] = path
        modules = {os.path.relpath(item.path, self.root) for item in items}
        self.summary.modules = sorted(Path(module).as_posix() for module in modules)
        self._sharing = {path: tests for path, tests in by_recording.items() if len(tests) > 1}

    def is_marked(self, item: pytest.Item) -> bool:
        """Whether loomrec is to answer the calls of this test."""
        return self.settings.mode != "off" and is_marked(item, self.root, self.settings.auto)

    def mode_of(self, mark: MarkArguments) -> str:
        """Returns the mode of a test. In a replay, a mark cannot ask for calls of the provider."""
        if self.settings.replays:
            return "replay"
        return mark.mode or self.settings.mode

    def point_environment(self, item: pytest.Item) -> None:
        """Sets the variables for a marked test; puts them back for another one."""
        if self.is_marked(item):
            self._overlay.apply()
        else:
            self._overlay.withdraw()

    def close(self) -> None:
        """Puts the variables back, and discards the session of a test that was interrupted."""
        self._overlay.withdraw()
        self._discard_open()
        self.summary.hidden += sorted(self._missed - self.failed)
        self.summary.late += self._threads.close()
        if self._client is not None:
            self.summary.asked += self._client.asked

    def _discard_open(self) -> None:
        """Ends a session that its test could not end."""
        left, self._open = self._open, None
        if left is not None:
            with contextlib.suppress(LoomrecError):
                if left.session.end(keep=False).missed:
                    self._missed.add(left.nodeid)

    def begin(self, item: pytest.Item) -> None:
        """Begins the session of a marked test, and fails the test if that is not possible."""
        self._discard_open()
        self.failed.discard(item.nodeid)
        self._missed.discard(item.nodeid)
        self._threads.begin()
        self._open = item.stash[ITEM_SESSION] = self._begin(item)

    def _begin(self, item: pytest.Item) -> ItemSession:
        try:
            mark = read_mark(item)
            recording = self._recording_path(item, mark)
            self._check_sharing(recording, item.nodeid)
            if self._client is None:
                raise ValueError(missing_server())
            session = self._client.begin(
                self.prefix, name=item.nodeid, recording=recording, mode=self.mode_of(mark),
                fault=mark.fault, faults=mark.faults, recovery=mark.recovery, ignore=mark.ignore,
                normalize=mark.normalize, vars=_base_folder(item),
            )
        except (ValueError, LoomrecError) as error:
            problem = self.explain(error)
        else:
            return ItemSession(item.nodeid, _argument(item), mark, session, recording, self.root / recording,
                               self.settings.fail_unused)
        fail(item, problem)
        raise AssertionError("unreachable")

    def explain(self, error: Exception) -> str:
        """Returns what an error says; if the server has ended, also how."""
        ended = None if isinstance(error, ControlRefusedError) else self.server_end()
        return f"{error}\n{ended}" if ended else str(error)

    def end(self, item: pytest.Item) -> str | None:
        """Ends the session of a test, if it has one, and returns what is wrong."""
        test = item.stash.get(ITEM_SESSION, None)
        if test is None:
            return None
        del item.stash[ITEM_SESSION]
        self._threads.leave(item.nodeid)
        try:
            result, problem = test.end()
        except LoomrecError as error:
            return None if test.has_failed else self.explain(error)
        self._open = None
        if result.missed:
            self._missed.add(item.nodeid)
        self.summary.add(test.outcome(result, test.passed), result)
        return problem

    def _recording_path(self, item: pytest.Item, mark: MarkArguments) -> str:
        return recording_path(item, self.root, self.settings.recordings, mark.recording)

    def _check_sharing(self, recording: str, nodeid: str) -> None:
        others = {test: path for test, path in self._sharing.get(recording.casefold(), {}).items()
                  if test != nodeid}
        same = [test for test, path in others.items() if path == recording]
        if same:
            raise ValueError(
                f"this test and {same[0]} would both record into {recording}; give all but one of"
                ' them the mark\'s argument mode="replay"'
            )
        if others:
            other, path = min(others.items())
            raise ValueError(
                f"this test would record into {recording}, and {other} into {path}: some file"
                " systems take both names for one file; give one of the tests another name or id"
            )


def _argument(item: pytest.Item) -> str:
    """The argument that chooses a test, for the folder in which pytest was started."""
    path = os.path.relpath(item.path, item.config.invocation_params.dir)
    return "::".join([path, *item.nodeid.split("::")[1:]])


def _base_folder(item: pytest.Item) -> dict[str, str]:
    """Values of the run for a test that uses temporary folders of pytest."""
    names: list[str] = getattr(item, "fixturenames", [])
    factory: Any = getattr(item.config, "_tmp_path_factory", None)
    if factory is None or "tmp_path_factory" not in names:
        return {}
    return {"basetemp": str(factory.getbasetemp())}
