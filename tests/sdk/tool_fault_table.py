"""The table of faults on tools in docs/mcp.md: each test checks its own column, or writes it with WRITE_TABLES=1."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

DOCUMENT = Path(__file__).parents[2] / "docs/mcp.md"
BEGIN, END = "<!-- faults:begin -->\n", "<!-- faults:end -->"
COLUMNS = ["Python, HTTP", "Python, stdio", "TypeScript, HTTP", "TypeScript, stdio"]
HOW = "write it anew: WRITE_TABLES=1 tests/sdk/run test_tool_faults.py"


def check_column(column: str, cells: dict[str, str]) -> None:
    """Fails if the table has other cells in this column, by the faults of their rows."""
    if os.environ.get("WRITE_TABLES"):
        _write(column, cells)
    held = rows()
    assert {fault: held.get(fault, {}).get(column) for fault in cells} == cells, HOW


def rows() -> dict[str, dict[str, str]]:
    """The cells of each fault, by their columns."""
    lines = [line for line in _split()[1].splitlines() if line.startswith("| ")][1:]
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines]
    return {fault: dict(zip(COLUMNS, texts)) for fault, *texts in cells}


def _write(column: str, cells: dict[str, str]) -> None:
    with open(DOCUMENT, "r+", encoding="utf-8") as lock:  # the tests run side by side
        fcntl.flock(lock, fcntl.LOCK_EX)
        before, _, after = _split()
        held = rows()
        known = {fault: {**held.get(fault, {}), column: cell} for fault, cell in cells.items()}
        titles = ["fault", *COLUMNS]
        table = f"| {' | '.join(titles)} |\n|{'---|' * len(titles)}\n"
        table += "".join(f"| {' | '.join([fault, *(row.get(it, '–') for it in COLUMNS)])} |\n"
                         for fault, row in known.items())
        lock.write("".join([before, table, after]))
        lock.truncate()


def _split() -> tuple[str, str, str]:
    """What is before the table, the table, and what is after it."""
    before, rest = DOCUMENT.read_text(encoding="utf-8").split(BEGIN)
    table, after = rest.split(END)
    return before + BEGIN, table, END + after
