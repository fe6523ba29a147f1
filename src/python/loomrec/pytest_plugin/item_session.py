"""The session of one test: from its setup to its teardown."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from loomrec.control import ControlRefusedError
from loomrec.pytest_plugin.failure_text import (
    describe_complaints,
    describe_misses,
    describe_untested,
    headline,
)
from loomrec.pytest_plugin.marks import MarkArguments
from loomrec.pytest_plugin.test_outcome import TestOutcome
from loomrec.server import LoomrecError
from loomrec.sessions import Session, SessionResult, SessionState


@dataclass
class ItemSession:
    """What the plug-in knows of a marked test while it runs."""

    nodeid: str
    #: What chooses the test on a command line.
    argument: str
    mark: MarkArguments
    session: Session
    #: The recording, relative to the root, and its full path.
    recording: str
    path: Path
    fail_unused: bool = False
    #: Whether every phase so far has passed, or failed as the test expects.
    passed: bool = True
    #: Whether a report of the test has failed.
    has_failed: bool = False

    def add_vars(self, **values: str) -> None:
        """Adds values of the run. Raises `LoomrecError` once the test has made a call."""
        try:
            self.session.add_vars(**values)
        except ControlRefusedError as error:
            if error.status != 409:
                raise
            names = ", ".join(values)
            message = f"the value `{names}` comes too late: give it before the test's first call"
            raise LoomrecError(f"{message} ({error})") from error

    def find_problem(self) -> str | None:
        """Returns what is wrong with the test's calls so far, or None."""
        return self._find_problem(self.session.show())

    def describe_misses(self) -> str | None:
        """Returns the missed calls so far, or None."""
        return self._describe_misses(self.session.show())

    def note_report(self, report: pytest.TestReport) -> None:
        """Notes how a phase of the test went."""
        is_expected = report.skipped and hasattr(report, "wasxfail")
        self.passed = self.passed and (report.passed or is_expected)
        self.has_failed = self.has_failed or report.failed

    def end(self) -> tuple[SessionResult, str | None]:
        """Ends the session. Returns its result, and what is wrong if no report has failed yet."""
        result = self.session.end(keep=self.passed)
        if self.has_failed:
            return result, None
        return result, self._find_problem(result) if self.passed else self._describe_misses(result)

    def _find_problem(self, state: SessionState) -> str | None:
        misses = self._describe_misses(state)
        if misses is not None:
            return misses
        if state.verdict == "not tested":
            return None if self.mark.allow_unfired else describe_untested(state)
        if state.calls and state.verdict != "ok":
            return describe_complaints(state)
        if self.fail_unused and self.unused(state):
            return f"the test left {_takes(state.unused)} of {self.recording} unused"
        return None

    def outcome(self, result: SessionResult, passed: bool) -> TestOutcome:
        """Returns what the summary of the run says about this test."""
        missing = self.session.mode == "replay" and not self.session.exists
        hashes = [str(mismatch.get("request_hash")) for mismatch in result.mismatches]
        # A proof needs all missed calls, and a receipt lists only the first of many.
        proof = hashes if missing and len(hashes) == result.missed else []
        unused = self.unused(result) if passed else 0
        return TestOutcome.from_result(self.nodeid, self.recording, result, unused, passed, proof)

    def unused(self, state: SessionState) -> int:
        """Returns how many recorded takes no call used, where that counts."""
        replays = self.session.mode != "record" and self.session.exists
        return state.unused if replays and not self.mark.allow_unused else 0

    def _describe_misses(self, state: SessionState) -> str | None:
        if not state.missed:
            return None
        return describe_misses(state, self.session.exists, self.recording, self.argument)


ITEM_SESSION = pytest.StashKey[ItemSession]()
#: What is wrong with the phase of a test that is running, until its report says so.
PROBLEM = pytest.StashKey[str]()


def fail(item: pytest.Item, problem: str) -> None:
    """Fails the test with this text, and no traceback."""
    item.stash[PROBLEM] = problem
    pytest.fail(headline(problem), pytrace=False)


def fail_report(report: pytest.TestReport, problem: str) -> None:
    """Has a report fail, and say this."""
    if not report.failed:
        report.outcome = "failed"
        vars(report).pop("wasxfail", None)
        if report.longrepr is None or isinstance(report.longrepr, tuple):  # the place of a skip
            report.longrepr = headline(problem)
    if headline(problem) not in report.longreprtext:
        report.sections.append(("loomrec", problem))


def _takes(number: int) -> str:
    return "a recorded take" if number == 1 else f"{number} recorded takes"
