"""Sessions of a loomrec server: a recording for each test, for any test framework.

`docs/pytest.md` has an example, `docs/sessions.md` the endpoints.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from loomrec.control import ControlClient
from loomrec.journal import JournalLine
from loomrec.server import LoomrecError, LoomrecServer

#: The version of the session interface that this module speaks.
SESSIONS_VERSION = 1
#: Flags of a replay: nothing weakens it but what control calls ask for, which the receipts name.
STRICT_FLAGS = ("--strict", "--allow-control")
#: Members of a session that change what a strict replay answers.
WEAKENING = ("faults", "fault", "ignore", "ignore_headers", "normalize", "vars")


@dataclass(frozen=True)
class TokenUsage:
    """Tokens of the calls of a session."""

    input: int
    output: int


@dataclass(frozen=True)
class SessionState:
    """What a session has done so far."""

    #: `prefix`, `name`, `recording`, `mode`, `url` and `exists`, as the server says them.
    session: dict[str, Any]
    #: The receipt of the session (`docs/receipt.md`).
    receipt: dict[str, Any]
    #: The receipt as people read it.
    summary: str
    #: The calls in the order of their ends, as lines of the journal (`docs/journal.md`).
    calls: list[JournalLine]

    @property
    def verdict(self) -> str:
        """`ok`, `failed` or `not tested`."""
        return str(self.receipt.get("verdict", "ok"))

    @property
    def complaints(self) -> list[str]:
        """What is wrong, for people."""
        return list(self.receipt.get("complaints") or [])

    @property
    def served(self) -> int:
        """Calls that were answered from the recording."""
        return self._count("served")

    @property
    def recorded(self) -> int:
        """Calls that were answered by the upstream and recorded."""
        return self._count("recorded")

    @property
    def missed(self) -> int:
        """Calls that no recording answers."""
        return self._count("missed")

    @property
    def unused(self) -> int:
        """Recorded takes that no call used."""
        return self._count("unused")

    @property
    def mismatches(self) -> list[dict[str, Any]]:
        """The missed calls, each with its reason and its differences."""
        return list(self.receipt.get("mismatches") or [])

    @property
    def usage(self) -> TokenUsage:
        """Tokens of the calls that were served or recorded."""
        tokens = self.receipt.get("tokens") or {}
        return TokenUsage(int(tokens.get("input") or 0), int(tokens.get("output") or 0))

    @property
    def cost_usd(self) -> float | None:
        """US dollars: spent if calls were recorded, saved if they were served.

        The sum of the known costs; None if no cost is known.
        """
        cost = self.receipt.get("cost_usd", 0.0)
        return None if cost is None else float(cost)

    def _count(self, member: str) -> int:
        return int(self.receipt.get(member) or 0)


@dataclass(frozen=True)
class SessionResult(SessionState):
    """How a session ended."""

    #: Whether the recording was written. False if nothing was recorded.
    kept: bool = False


class Session:
    """An open session: all calls under `url` belong to it."""

    def __init__(
        self,
        control: ControlClient,
        session: dict[str, Any],
        asked: set[str] | None = None,
        log: list[str] | None = None,
    ) -> None:
        self._control = control
        self._asked = asked or set()
        self._log = [] if log is None else log
        self.prefix = str(session["prefix"])
        self.name = str(session["name"])
        #: The file, as the server names it.
        self.recording = str(session["recording"])
        #: `replay`, `record` or `new`.
        self.mode = str(session["mode"])
        #: The base URL of the session, without a provider's path.
        self.url = str(session["url"])
        #: Whether the recording was there when the session began.
        self.exists = bool(session["exists"])

    def show(self) -> SessionState:
        """Returns what the session has done so far."""
        answer = self._control.get("/__loomrec/session", prefix=self.prefix)
        return SessionState(**_state(answer))

    def add_vars(self, **values: str) -> None:
        """Adds values of the run (`docs/binding.md`).

        Raises `LoomrecError` after the first call of the session.
        """
        self._control.post("/__loomrec/session/vars", {"prefix": self.prefix, "vars": values})
        self._asked.add("vars")
        self._log.extend(sorted(self._asked))  # the server begins the session again

    def end(self, keep: bool = True) -> SessionResult:
        """Ends the session, and returns how it ended.

        With `keep`, what was recorded becomes the recording. Without it, the recording stays as
        it was.
        """
        body = {"prefix": self.prefix, "keep": keep}
        answer = self._control.post("/__loomrec/session/end", body)
        return SessionResult(**_state(answer), kept=bool(answer.get("kept")))


class SessionClient:
    """Begins sessions on a loomrec server that is running."""

    def __init__(self, url: str, token: str | None = None) -> None:
        self.url = url.rstrip("/")
        #: The members of sessions that this client asked for and that weaken a strict replay.
        self.asked: list[str] = []
        self._control = ControlClient(self.url, token)

    def environment(self, prefix: str | None = None) -> dict[str, str]:
        """Returns the variables that point SDKs at the server, with this prefix."""
        query = {} if prefix is None else {"prefix": prefix}
        answer = self._control.get("/__loomrec/environment", **query)
        variables: dict[str, str] = answer["variables"]
        return variables

    def begin(
        self,
        prefix: str,
        *,
        name: str | None = None,
        recording: str | None = None,
        mode: str | None = None,
        faults: Mapping[str, Any] | None = None,
        fault: str | Sequence[str] = (),
        seed: int | None = None,
        recovery: str | None = None,
        ignore: Sequence[str] = (),
        ignore_headers: Sequence[str] = (),
        normalize: Sequence[str] = (),
        vars: Mapping[str, str] | None = None,
    ) -> Session:
        """Begins the session that the prefix means from now on.

        `docs/sessions.md` describes the members. Raises `LoomrecError` with the server's message
        if it refuses.
        """
        members: dict[str, Any] = {
            "prefix": prefix, "name": name, "recording": recording, "mode": mode,
            "faults": faults, "fault": _texts(fault), "seed": seed, "recovery": recovery,
            "ignore": _texts(ignore), "ignore_headers": _texts(ignore_headers),
            "normalize": _texts(normalize),
            "vars": dict(vars or {}),
        }
        given = {key: value for key, value in members.items() if value not in (None, [], {})}
        begun = self._control.post("/__loomrec/session", given)["session"]
        asked = {member for member in WEAKENING if member in given}
        self.asked.extend(sorted(asked))
        return Session(self._control, begun, asked, self.asked)


class SessionServer(SessionClient):
    """A `loomrec replay` or `loomrec record` of this program that keeps a recording a session.

    A replay is strict, and both have the guard: `environment` names it as the proxy for `https`
    connections. It is a context manager: the server stops when the block ends.
    """

    def __init__(
        self,
        command: str,
        folder: str | os.PathLike[str],
        *arguments: str,
        binary: str | None = None,
        cwd: str | os.PathLike[str] | None = None,
        strict: bool = True,
    ) -> None:
        """Starts the server. `folder` holds the recordings; `arguments` are further flags.

        Raises `LoomrecError` with what the server said if it does not start.
        """
        words = ["-r", str(Path(folder).resolve() / "{session}.json"), "--sessions-by-control"]
        if command == "replay" and strict:
            words += STRICT_FLAGS
        self.process = LoomrecServer(command, *words, *arguments, binary=binary, cwd=cwd)
        super().__init__(self.process.url)
        self._check_version()

    def _check_version(self) -> None:
        health = self._control.get("/__loomrec/health")
        version = (health.get("sessions") or {}).get("version")
        if version != SESSIONS_VERSION:
            self.stop()
            raise LoomrecError(
                f"this loomrec ({health.get('version')}) speaks version {version} of the session"
                f" interface, and this Python package version {SESSIONS_VERSION}: install both of"
                " the same version"
            )

    def stop(self) -> int:
        """Stops the server, and returns its exit code."""
        return self.process.stop()

    def __enter__(self) -> SessionServer:
        return self

    def __exit__(self, *_error: object) -> None:
        self.stop()


def _texts(given: str | Sequence[str]) -> list[str]:
    return [given] if isinstance(given, str) else list(given)


def _state(answer: Mapping[str, Any]) -> dict[str, Any]:
    return {member: answer[member] for member in ("session", "receipt", "summary", "calls")}
