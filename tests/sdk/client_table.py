"""The table of clients in docs/reach.md: each test checks its own row, or writes it with WRITE_TABLES=1."""

from __future__ import annotations

import fcntl
import os
import re
from pathlib import Path

DOCUMENT = Path(__file__).parents[2] / "docs/reach.md"
BEGIN, END = "<!-- clients:begin -->\n", "<!-- clients:end -->"
HEAD = ("| client | version | base URL | interception | a miss | a refused host |\n"
        "|---|---|---|---|---|---|\n")
HOW = "write it anew: WRITE_TABLES=1 tests/sdk/run test_clients.py test_bedrock_signature.py test_grpc.py"


def check_row(name: str, version: str, *cells: str) -> None:
    """Fails if the table has another row for this client."""
    row = f"| {' | '.join([name, version, *cells])} |\n"
    if os.environ.get("WRITE_TABLES"):
        _write(name, row)
    assert rows().get(name) == row, HOW


def rows() -> dict[str, str]:
    """The rows by the names of their clients, in order."""
    held = _split()[1].removeprefix(HEAD).splitlines(keepends=True)
    return {row.split(" | ")[0].removeprefix("| "): row for row in held}


def shown(failed: dict) -> str:
    """A failure in the words of its client: the class, the status, and whether it gives the reason."""
    name = failed["class"] if " " in failed["class"] else f"`{failed['class']}`"
    gives_reason = "loomrec replays without" in failed["message"]
    return ", ".join([name, *([str(failed["status"])] if failed.get("status") else []),
                      *(["with the reason"] if gives_reason else [])])


def _write(name: str, row: str) -> None:
    with open(DOCUMENT, "r+", encoding="utf-8") as lock:  # the tests run side by side
        fcntl.flock(lock, fcntl.LOCK_EX)
        before, _, after = _split()
        known = {**rows(), name: row}
        order = sorted(known, key=lambda it: (re.sub(r"\W", "", it).lower(), it))
        lock.write("".join([before, HEAD, *(known[it] for it in order), after]))
        lock.truncate()


def _split() -> tuple[str, str, str]:
    """What is before the table, the table, and what is after it."""
    before, rest = DOCUMENT.read_text(encoding="utf-8").split(BEGIN)
    table, after = rest.split(END)
    return before + BEGIN, table.strip("\n") + "\n", END + after
