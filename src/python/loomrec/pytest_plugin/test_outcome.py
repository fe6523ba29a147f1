"""How a test went with loomrec: what the summary of a run is made of."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from loomrec.pytest_plugin.in_force import describe_in_force
from loomrec.sessions import SessionResult


@dataclass
class TestOutcome:
    """The last attempt of a test: a plug-in may run it again."""

    __test__ = False  # pytest takes a class of this name for a test

    nodeid: str
    recording: str
    #: `replayed`, `recorded`, `discarded` (recorded and not kept), or empty.
    kind: str = ""
    #: Takes that no call used.
    unused: int = 0
    #: Whether it passed and made no call.
    is_silent: bool = False
    #: Calls that failed while it recorded, and how many by status; empty for none.
    failed_calls: str = ""
    #: What its replay went by besides the recording.
    in_force: list[str] = field(default_factory=list)
    #: The hashes of the calls that it missed, all of them, if it has no recording.
    missing: list[str] = field(default_factory=list)
    #: The missed requests that wait for answers.
    pending: int = 0

    @classmethod
    def from_result(
        cls, nodeid: str, recording: str, result: SessionResult, unused: int, passed: bool,
        missing: Sequence[str],
    ) -> TestOutcome:
        """Returns the outcome of a test whose session ended so."""
        failed = result.receipt.get("failed_calls") or {}
        counts = ", ".join(f"{what}: {number}" for what, number in sorted(failed.items()))
        return cls(
            nodeid, recording, _kind(result), unused,
            is_silent=passed and not result.calls,
            failed_calls=f"{nodeid} ({counts})" if result.recorded and failed else "",
            in_force=list(describe_in_force(result.receipt.get("in_force"))) if result.served else [],
            missing=list(missing),
            pending=int((result.receipt.get("pending") or {}).get("calls") or 0),
        )


def _kind(result: SessionResult) -> str:
    if result.recorded:
        return "recorded" if result.kept else "discarded"
    return "replayed" if result.served else ""
