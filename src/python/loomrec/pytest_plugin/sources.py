"""Whether the tests that were asked for mention loomrec at all.

A run that mentions it nowhere must stay as it is without the plug-in: no server, no variable.
"""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

_WORD = b"loomrec"


def mention_loomrec(
    paths: Iterable[Path], root: Path, patterns: Sequence[str], skipped: Sequence[str]
) -> bool:
    """Whether a test module or conftest.py of these paths holds the word `loomrec`.

    `patterns` and `skipped` are pytest's `python_files` and `norecursedirs`.
    """
    wanted = [*patterns, "conftest.py"]
    return any(_holds_word(path) for path in _modules(paths, root, wanted, skipped))


def _modules(
    paths: Iterable[Path], root: Path, wanted: Sequence[str], skipped: Sequence[str]
) -> Iterator[Path]:
    for path in paths:
        if path.is_dir():
            yield from _modules_below(path, wanted, skipped)
        elif path.is_file():
            yield path
        yield from _conftests_above(path, root)


def _modules_below(folder: Path, wanted: Sequence[str], skipped: Sequence[str]) -> Iterator[Path]:
    for where, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if not is_skipped(Path(where, name), skipped)]
        for name in files:
            path = Path(where, name)
            if path.suffix == ".py" and any(_fits(path, pattern) for pattern in wanted):
                yield path


def _fits(path: Path, pattern: str) -> bool:
    """A pattern with a slash is for the whole path, as in pytest."""
    if "/" in pattern:
        return fnmatch.fnmatch(path.as_posix(), f"*/{pattern}")
    return fnmatch.fnmatch(path.name, pattern)


def is_skipped(folder: Path, skipped: Sequence[str]) -> bool:
    """Whether pytest does not look for tests in a folder."""
    if any(fnmatch.fnmatch(folder.name, pattern) for pattern in skipped):
        return True
    return folder.name == "__pycache__" or (folder / "pyvenv.cfg").is_file()


def _conftests_above(path: Path, root: Path) -> Iterator[Path]:
    for folder in path.parents:
        if folder != root and root not in folder.parents:
            return
        if (folder / "conftest.py").is_file():
            yield folder / "conftest.py"


def _holds_word(path: Path) -> bool:
    try:
        return _WORD in path.read_bytes()
    except OSError:
        return False
