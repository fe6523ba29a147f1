"""The mark `@pytest.mark.loomrec` and its arguments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import pytest

from loomrec.pytest_plugin.settings import suggest

DESCRIPTION = (
    "loomrec(recording, fault, faults, recovery, ignore, normalize, mode, allow_unused,"
    " allow_unfired, off): replay the LLM calls of this test from a recording of its own"
)
_MODES = ("replay", "record", "new")
_LISTS = ("fault", "ignore", "normalize")
_TEXTS = ("recording", "recovery", "mode")
_SWITCHES = ("allow_unused", "allow_unfired", "off")


@dataclass(frozen=True)
class MarkArguments:
    """The arguments of all marks of a test: a nearer mark overrides those further out."""

    recording: str | None = None
    fault: tuple[str, ...] = ()
    faults: Mapping[str, Any] = field(default_factory=dict)
    recovery: str | None = None
    ignore: tuple[str, ...] = ()
    normalize: tuple[str, ...] = ()
    mode: str | None = None
    allow_unused: bool = False
    allow_unfired: bool = False
    off: bool = False


KNOWN = tuple(each.name for each in fields(MarkArguments))


def is_marked(item: pytest.Item, root: Path, auto: tuple[str, ...]) -> bool:
    """Whether a test is marked, has the fixture or is in a folder of `auto`, and is not off."""
    marks = list(item.iter_markers("loomrec"))
    if marks:
        return not marks[0].kwargs.get("off", False)
    if "loomrec" in getattr(item, "fixturenames", ()):
        return True
    return any(_is_below(item.path, root / folder) for folder in auto)


def read_mark(item: pytest.Item) -> MarkArguments:
    """Returns the arguments of a marked test.

    Raises `ValueError` for an unknown argument, and for a value of another type.
    """
    given: dict[str, Any] = {}
    for mark in reversed(list(item.iter_markers("loomrec"))):
        if mark.args:
            raise ValueError(f"the mark takes arguments by name only, not {mark.args[0]!r}")
        given.update(mark.kwargs)
    given.pop("off", None)
    return MarkArguments(**{key: _checked(key, value) for key, value in given.items()})


def _is_below(path: Path, folder: Path) -> bool:
    folder = folder.resolve()
    return folder == path.resolve() or folder in path.resolve().parents


def _checked(key: str, value: Any) -> Any:
    if key not in KNOWN:
        raise ValueError(f"the mark has no argument `{key}`; {suggest(key, KNOWN)}")
    if key in _LISTS:
        texts = (value,) if isinstance(value, str) else value
        if not isinstance(texts, (list, tuple)) or not all(isinstance(t, str) for t in texts):
            raise ValueError(f"`{key}` must be a text or a list of texts, not {value!r}")
        return tuple(texts)
    if key in _TEXTS and not isinstance(value, str):
        raise ValueError(f"`{key}` must be a text, not {value!r}")
    if key in _SWITCHES and not isinstance(value, bool):
        raise ValueError(f"`{key}` must be True or False, not {value!r}")
    if key == "faults" and not isinstance(value, Mapping):
        raise ValueError(f"`faults` must be a fault plan, as a dict, not {value!r}")
    if key == "mode" and value not in _MODES:
        raise ValueError(f"`mode` must be one of {', '.join(_MODES)}, not {value!r}")
    return value
