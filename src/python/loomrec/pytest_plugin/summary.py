"""What the tests of a run did with loomrec, and the lines that say so at its end."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from loomrec.pytest_plugin.in_force import describe_in_force, in_force_line
from loomrec.sessions import SessionResult

#: How many names a line of the summary holds.
_MOST_NAMES = 10


@dataclass
class RunSummary:
    """Counts of a run, or of one worker of a run."""

    replayed: int = 0
    saved_usd: float = 0.0
    #: The recorded time of the calls that were served, in milliseconds.
    saved_ms: float = 0.0
    recorded: int = 0
    spent_usd: float = 0.0
    #: Tests that recorded something which was not kept.
    discarded: list[str] = field(default_factory=list)
    #: Recordings with takes that no call used: path and number.
    unused: list[tuple[str, int]] = field(default_factory=list)
    #: Marked tests that passed and made no call.
    silent: list[str] = field(default_factory=list)
    #: Calls that failed while a test recorded: the test, and how many by status.
    failed_calls: list[str] = field(default_factory=list)
    #: What the replays of tests went by besides their recordings, once for each test.
    in_force: list[str] = field(default_factory=list)
    #: Members of sessions that weaken a strict replay, once for each time they were asked for.
    asked: list[str] = field(default_factory=list)
    #: The recordings of all tests that were collected.
    expected: list[str] = field(default_factory=list)
    #: Folders with tests, relative to the root.
    folders: list[str] = field(default_factory=list)
    deselected: int = 0
    #: Calls with tokens whose cost is not known.
    unpriced: int = 0

    def add(
        self, nodeid: str, recording: str, result: SessionResult, unused: int, passed: bool = True
    ) -> None:
        """Adds the session of a test."""
        if passed and not result.calls:
            self.silent.append(nodeid)
        failed = result.receipt.get("failed_calls") or {}
        if result.recorded and failed:
            counts = ", ".join(f"{what}: {number}" for what, number in sorted(failed.items()))
            self.failed_calls.append(f"{nodeid} ({counts})")
        if result.served:
            self.in_force += describe_in_force(result.receipt.get("in_force"))
        spent, saved = _split_cost(result)
        self.spent_usd += spent
        self.saved_usd += saved
        self.unpriced += int(result.receipt.get("cost_not_known") or 0)
        self.saved_ms += float(result.receipt.get("recorded_ms") or 0.0)
        if result.recorded and not result.kept:
            self.discarded.append(nodeid)
        elif result.recorded:
            self.recorded += 1
        elif result.served:
            self.replayed += 1
        if unused:
            self.unused.append((recording, unused))

    def merge(self, other: RunSummary) -> None:
        """Adds the counts of another worker."""
        for each in fields(self):
            setattr(self, each.name, getattr(self, each.name) + getattr(other, each.name))
        self.deselected = max(self.deselected, other.deselected)

    def to_dict(self) -> dict[str, Any]:
        """Returns plain values, for the way from a worker to the controller."""
        return {**asdict(self), "unused": [list(pair) for pair in self.unused]}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> RunSummary:
        """Reads what `to_dict` returned."""
        return cls(**{**values, "unused": [(path, number) for path, number in values["unused"]]})

    def lines(self) -> Iterator[str]:
        """Returns the lines for people, without orphans. None if no test called.

        Names are sorted: processes that run tests at the same time finish them in any order.
        """
        if self.replayed:
            saved = f"${format_usd(self.saved_usd)}"
            if self.saved_ms:
                saved += f" and {format_time(self.saved_ms)}"
            yield f"{_tests(self.replayed)} replayed, {saved} saved"
        if self.recorded or self.discarded:
            yield f"{_tests(self.recorded)} recorded (${format_usd(self.spent_usd)} spent)"
        if self.unpriced:
            yield f"calls whose cost is not known: {self.unpriced}"
        if self.discarded:
            yield "not recorded, because the test did not pass: " + _names(sorted(self.discarded))
        if self.failed_calls:
            yield (
                "calls that failed while they were recorded, and are replayed as failures: "
                + _names(sorted(self.failed_calls))
            )
        if self.silent:
            yield "marked tests without a call: " + _names(sorted(self.silent))
        in_force = in_force_line(self.in_force)
        if in_force is not None:
            yield in_force
        if self.unused:
            first = sorted(self.unused)[:_MOST_NAMES]
            texts = [f"{path} ({number})" for path, number in first]
            yield "unused takes: " + _names(texts, len(self.unused))


def orphan_line(orphans: list[str]) -> str:
    """The line that names recordings without a test."""
    return "recordings without a test: " + _names(orphans)


def format_usd(amount: float) -> str:
    """Returns an amount with cents, or with more digits if it is smaller than a cent."""
    if amount == 0 or amount >= 0.01:
        return f"{amount:.2f}"
    return f"{amount:.6f}".rstrip("0")


def format_time(milliseconds: float) -> str:
    """Returns a time in the unit that suits it."""
    seconds = milliseconds / 1000
    if seconds < 1:
        return f"{milliseconds:.0f} ms"
    return f"{seconds:.1f} s" if seconds < 90 else f"{seconds / 60:.0f} min"


def _split_cost(result: SessionResult) -> tuple[float, float]:
    """What the calls of a session have cost, and what they would have cost."""
    if not result.recorded:
        return 0.0, result.cost_usd or 0.0
    if not result.served:
        return result.cost_usd or 0.0, 0.0
    costs = {"recorded": 0.0, "served": 0.0}
    for call in result.calls:
        if call.get("outcome") in costs:
            costs[call["outcome"]] += call.get("cost_usd") or 0.0
    return costs["recorded"], costs["served"]


def _tests(number: int) -> str:
    return "1 test" if number == 1 else f"{number} tests"


def _names(names: list[str], total: int | None = None) -> str:
    total = len(names) if total is None else total
    text = ", ".join(names[:_MOST_NAMES])
    return f"{text} and {total - _MOST_NAMES} more" if total > _MOST_NAMES else text
