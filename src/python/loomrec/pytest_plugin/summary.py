"""What the tests of a run did with loomrec, and the lines that say so at its end."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from loomrec.pytest_plugin.in_force import in_force_line
from loomrec.pytest_plugin.test_outcome import TestOutcome
from loomrec.sessions import SessionResult

#: How many names a line of the summary holds.
_MOST_NAMES = 10


@dataclass
class RunSummary:
    """Counts of a run, or of one worker of a run."""

    #: The last attempt of each test that had a session.
    tests: dict[str, TestOutcome] = field(default_factory=dict)
    saved_usd: float = 0.0
    #: The recorded time of the calls that were served, in milliseconds.
    saved_ms: float = 0.0
    spent_usd: float = 0.0
    #: Members of sessions that weaken a strict replay, once for each time they were asked for.
    asked: list[str] = field(default_factory=list)
    #: The recordings of all tests that were collected, marked or not.
    expected: list[str] = field(default_factory=list)
    #: Files with tests, relative to the root.
    modules: list[str] = field(default_factory=list)
    #: Files and folders with tests that skipped themselves while they were collected.
    uncollected: list[str] = field(default_factory=list)
    #: Threads that called after their test had ended.
    late: list[str] = field(default_factory=list)
    #: Tests that missed calls and did not fail.
    hidden: list[str] = field(default_factory=list)
    deselected: int = 0
    #: Calls whose cost is not known.
    unpriced: int = 0

    def add(self, outcome: TestOutcome, result: SessionResult) -> None:
        """Adds the session of a test, which takes the place of its earlier attempts."""
        self.tests[outcome.nodeid] = outcome
        spent, saved = _split_cost(result)
        self.spent_usd += spent
        self.saved_usd += saved
        self.unpriced += int(result.receipt.get("cost_not_known") or 0)
        self.saved_ms += float(result.receipt.get("recorded_ms") or 0.0)

    def merge(self, other: RunSummary) -> None:
        """Adds the counts of another worker."""
        deselected = max(self.deselected, other.deselected)
        for each in fields(self):
            mine, theirs = getattr(self, each.name), getattr(other, each.name)
            setattr(self, each.name, mine | theirs if each.name == "tests" else mine + theirs)
        self.deselected = deselected

    def to_dict(self) -> dict[str, Any]:
        """Returns plain values, for the way from a worker to the controller."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> RunSummary:
        """Reads what `to_dict` returned."""
        tests = {nodeid: TestOutcome(**test) for nodeid, test in values["tests"].items()}
        return cls(**{**values, "tests": tests})

    def lines(self) -> Iterator[str]:
        """Returns the lines for people, without orphans. None if no test called.

        Names are sorted: processes that run tests at the same time finish them in any order.
        """
        tests = [self.tests[nodeid] for nodeid in sorted(self.tests)]
        kinds = Counter(test.kind for test in tests)
        if kinds["replayed"]:
            saved = f"${format_usd(self.saved_usd)}"
            if self.saved_ms:
                saved += f" and {format_time(self.saved_ms)}"
            yield f"{_tests(kinds['replayed'])} replayed, {saved} saved"
        if kinds["recorded"] or kinds["discarded"]:
            yield f"{_tests(kinds['recorded'])} recorded (${format_usd(self.spent_usd)} spent)"
        if self.unpriced:
            yield f"calls whose cost is not known: {self.unpriced}"
        named = {
            "not recorded, because the test did not pass":
                [test.nodeid for test in tests if test.kind == "discarded"],
            "calls that failed while they were recorded, and are replayed as failures":
                [test.failed_calls for test in tests if test.failed_calls],
            "marked tests without a call": [test.nodeid for test in tests if test.is_silent],
        }
        yield from (f"{title}: {_names(names)}" for title, names in named.items() if names)
        in_force = in_force_line(text for test in tests for text in test.in_force)
        if in_force is not None:
            yield in_force
        unused = sorted({(test.recording, test.unused) for test in tests if test.unused})
        if unused:
            yield "unused takes: " + _names([f"{path} ({number})" for path, number in unused])


def late_line(late: list[str]) -> str:
    """The line that names threads and tasks which called after their test had ended."""
    return (
        f"calls after the end of their test were refused: {_names(sorted(set(late)))};"
        " end a thread or task in its test, or start it in a fixture of a wider scope"
    )


def hidden_line(hidden: list[str]) -> str:
    """The line that names tests which missed calls and did not fail."""
    return f"tests had calls without a recorded answer, and did not fail: {_names(hidden)}"


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


def _names(names: list[str]) -> str:
    total = len(names)
    text = ", ".join(names[:_MOST_NAMES])
    return f"{text} and {total - _MOST_NAMES} more" if total > _MOST_NAMES else text
