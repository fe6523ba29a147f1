"""The table of what is green, in Markdown."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from conditions import CHANGES, CLONE, CONDITIONS, INTERCEPTED

COLUMNS = [*(condition.name for condition in CONDITIONS), INTERCEPTED, *CHANGES]
NOT_TRIED = "–"


@dataclass
class Cell:
    """What became of one condition: how many runs were good, and why the others were not."""

    runs: int = 0
    reasons: list[str] = field(default_factory=list)

    def text(self) -> str:
        if not self.runs:
            return NOT_TRIED
        good = self.runs - len(self.reasons)
        letter = "R" if self.reasons else "G"
        return letter if self.runs == 1 else f"{letter} {good}/{self.runs}"


@dataclass
class Row:
    """A row: one agent in one version."""

    name: str
    version: str
    #: How many calls were recorded, or why that failed.
    recorded: str = NOT_TRIED
    cells: dict[str, Cell] = field(default_factory=dict)
    #: Why the agent was not run.
    skipped: str = ""

    def is_good(self) -> bool:
        is_tried = bool(self.cells) and not self.is_lost()
        return is_tried and not any(cell.reasons for cell in self.cells.values())

    def is_lost(self) -> bool:
        """Whether nothing could be replayed."""
        return bool(self.skipped) or not (self.recorded.isdigit() or self.recorded == NOT_TRIED)

    def texts(self) -> list[str]:
        recorded = self.recorded if self.recorded.isdigit() else NOT_TRIED
        return [self.name, self.version, recorded,
                *(self.cells.get(column, Cell()).text() for column in COLUMNS)]

    def notes(self) -> list[Note]:
        """Returns a note for each reason why a cell is not green."""
        if self.skipped:
            return [Note(self.name, self.version, ["not run"], self.skipped)]
        if self.is_lost():
            return [Note(self.name, self.version, ["record"], self.recorded)]
        reasons: dict[str, list[str]] = {}
        for column, cell in self.cells.items():
            for reason in dict.fromkeys(cell.reasons):
                reasons.setdefault(reason, []).append(column)
        return [Note(self.name, self.version, columns, reason)
                for reason, columns in reasons.items()]


@dataclass
class Note:
    """A line below the table: why cells of a row are not green."""

    name: str
    version: str
    columns: list[str]
    reason: str

    def markdown(self) -> str:
        return f"* {self.name} {self.version} ({', '.join(self.columns)}): {self.reason}"

    @classmethod
    def parse(cls, line: str) -> Note:
        head, _, reason = line.removeprefix("* ").partition("): ")
        row, _, columns = head.rpartition(" (")
        name, _, version = row.rpartition(" ")
        return cls(name, version, columns.split(", "), reason)


class Table:
    """The table of a page, into which the rows of a run are put."""

    def __init__(self, text: str = ""):
        # The first two lines are the header's.
        lines = [line for line in text.splitlines() if line.startswith("|")][2:]
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
        #: The cells of each row, by name and version.
        self.rows = {(cells[0], cells[1]): cells for cells in rows
                     if len(cells) == 3 + len(COLUMNS)}
        self.notes = [Note.parse(line) for line in text.splitlines() if line.startswith("* ")]

    def put(self, row: Row) -> None:
        """Puts in the cells that were tried, and keeps all others."""
        key, new = (row.name, row.version), row.texts()
        # What an agent gave that cannot be recorded any more says nothing.
        old = new if row.is_lost() else self.rows.get(key, new)
        if row.cells.get(CLONE.name, Cell()).reasons:
            # Changes are tried only in a green clone.
            old = [*old[:-len(CHANGES)], *[NOT_TRIED] * len(CHANGES)]
        self.rows[key] = [mine if mine != NOT_TRIED else theirs for mine, theirs in zip(new, old)]
        tried = {*(COLUMNS if row.is_lost() else row.cells), "record", "not run"}
        for note in self.notes:
            if (note.name, note.version) == key:
                note.columns = [column for column in note.columns if column not in tried]
        self.notes = [note for note in self.notes if note.columns] + row.notes()

    def markdown(self, order: list[tuple[str, str]]) -> str:
        """Returns the table with the rows in this order, without rows that are not in it."""
        rows = [f"|{'|'.join(self.rows[key])}|\n" for key in order if key in self.rows]
        notes = sorted((note for note in self.notes if (note.name, note.version) in order),
                       key=lambda note: order.index((note.name, note.version)))
        text = header() + "".join(rows)
        return text + ("\nNot green:\n\n" if notes else "") \
            + "".join(f"{note.markdown()}\n" for note in notes)


def header() -> str:
    titles = ["agent", "version", "calls", *(condition.title for condition in CONDITIONS),
              "without a base URL", *(f"{title} missed" for title in CHANGES.values())]
    return f"| {' | '.join(titles)} |\n|{'---|' * len(titles)}\n"


def read_table(file: Path, name: str = "table") -> str:
    """Returns what is between the two markers of this name in a file."""
    _, _, rest = file.read_text().partition(f"<!-- {name}: begin -->\n")
    return rest.partition(f"<!-- {name}: end -->\n")[0]


def write_table(file: Path, table: str, name: str = "table") -> None:
    """Replaces what is between the two markers of this name in a file."""
    begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->\n"
    before, _, rest = file.read_text().partition(begin)
    _, _, after = rest.partition(end)
    file.write_text(f"{before}{begin}{table}{end}{after}")
