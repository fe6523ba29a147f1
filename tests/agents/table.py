"""The table of what is green, in Markdown."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from conditions import CHANGES, CONDITIONS


@dataclass
class Cell:
    """What became of one condition: how many runs were good, and why the others were not."""

    runs: int = 0
    reasons: list[str] = field(default_factory=list)

    def text(self) -> str:
        if not self.runs:
            return "–"
        good = self.runs - len(self.reasons)
        letter = "R" if self.reasons else "G"
        return letter if self.runs == 1 else f"{letter} {good}/{self.runs}"


@dataclass
class Row:
    """A row: one agent in one version."""

    name: str
    version: str
    recorded: str = "–"
    clock: str = ""
    cells: dict[str, Cell] = field(default_factory=dict)
    #: Why the agent was not run.
    skipped: str = ""

    def is_good(self) -> bool:
        return self.recorded.isdigit() and not any(cell.reasons for cell in self.cells.values())

    def markdown(self) -> str:
        columns = [condition.name for condition in CONDITIONS] + list(CHANGES)
        texts = [self.cells.get(column, Cell()).text() for column in columns]
        return f"| {self.name} | {self.version} | {self.recorded} | {' | '.join(texts)} |"

    def notes(self) -> list[str]:
        """Returns a line for each cell that is not green."""
        if self.skipped:
            return [f"* {self.name} {self.version}: not run: {self.skipped}"]
        if not self.recorded.isdigit():
            return [f"* {self.name} {self.version}: {self.recorded}"]
        reasons: dict[str, list[str]] = {}
        for column, cell in self.cells.items():
            for reason in dict.fromkeys(cell.reasons):
                reasons.setdefault(reason, []).append(column)
        return [f"* {self.name} {self.version}, {', '.join(columns)}: {reason}"
                for reason, columns in reasons.items()]


def header() -> str:
    titles = ["agent", "version", "calls", *(condition.title for condition in CONDITIONS),
              *(f"{title} missed" for title in CHANGES.values())]
    return f"| {' | '.join(titles)} |\n|{'---|' * len(titles)}\n"


def write_table(file: Path, table: str, name: str = "table") -> None:
    """Replaces what is between the two markers of this name in a file."""
    begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->\n"
    before, _, rest = file.read_text().partition(begin)
    _, _, after = rest.partition(end)
    file.write_text(f"{before}{begin}{table}{end}{after}")
