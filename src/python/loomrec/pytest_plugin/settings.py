"""What the command line and `[tool.loomrec.pytest]` in pyproject.toml ask for."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

#: The values of `--loomrec`.
MODES = ("replay", "review", "record", "new", "off")
_TABLE = "[tool.loomrec.pytest]"
_LISTS = ("auto", "upstream", "args")
_KEYS = ("mode", "auto", "recordings", "upstream", "args", "fail_unused")


@dataclass(frozen=True)
class PluginSettings:
    """The settings of a run."""

    #: `replay`, `review`, `record`, `new` or `off`.
    mode: str = "replay"
    #: Whether the command line or the project asks for loomrec, even without a mark.
    requested: bool = False
    #: Folders or files, relative to the root, whose tests need no mark.
    auto: tuple[str, ...] = ()
    #: The name of the folder with recordings beside the tests.
    recordings: str = "recordings"
    upstream: tuple[str, ...] = ()
    #: Further flags for the server.
    args: tuple[str, ...] = ()
    #: Whether a test fails that passed and left a recorded take unused.
    fail_unused: bool = False

    @property
    def replays(self) -> bool:
        """Whether no call goes to a provider."""
        return self.mode in ("replay", "review")


@dataclass(frozen=True)
class _Table:
    values: Mapping[str, Any] = field(default_factory=dict)
    exists: bool = False


def read_settings(option: str | None, root: Path) -> PluginSettings:
    """Returns the settings of a run with `--loomrec=option` in a project.

    Raises `pytest.UsageError` for an unknown key, a value of another type, a path of `auto` that
    does not exist, and a mode that calls a provider where `CI` is set.
    """
    table = _read_table(root / "pyproject.toml")
    _check_keys(table.values)
    values = {key: _checked(key, value) for key, value in table.values.items()}
    for path in values.get("auto", ()):
        if not (root / path).exists():
            raise pytest.UsageError(f"loomrec: `auto` in {_TABLE} names {path}, which does not exist")
    mode = _choose_mode(option, values.pop("mode", "replay"))
    return PluginSettings(mode=mode, requested=option is not None or table.exists, **values)


def is_ci() -> bool:
    """Whether this run is in continuous integration, by the variable `CI`."""
    return os.environ.get("CI", "").strip().lower() not in ("", "0", "false")


def _choose_mode(option: str | None, project_mode: str) -> str:
    if option is None:
        return "replay" if is_ci() else project_mode
    if is_ci() and option in ("record", "new"):
        raise pytest.UsageError(
            f"loomrec: --loomrec={option} calls the provider, and CI is set: in CI, tests are"
            " only replayed. To record here on purpose, empty the variable:"
            f" CI= pytest --loomrec={option}"
        )
    return option


def _read_table(path: Path) -> _Table:
    if not path.is_file():
        return _Table()
    content = path.read_bytes()
    if b"loomrec" not in content:
        return _Table()
    try:
        document = _parse_toml(content.decode("utf-8"))
    except ValueError as error:
        raise pytest.UsageError(f"loomrec: failed to read {path}: {error}") from error
    tool = document.get("tool", {}).get("loomrec", {})
    table = tool.get("pytest") if isinstance(tool, dict) else None
    if table is None:
        return _Table()
    if not isinstance(table, dict):
        raise pytest.UsageError(f"loomrec: `pytest` of [tool.loomrec] in {path} must be a table")
    return _Table(table, True)


def _parse_toml(text: str) -> dict[str, Any]:
    try:
        import tomllib as parser
    except ImportError:  # Python below 3.11, for which pytest itself installs tomli
        import tomli as parser  # type: ignore[import-not-found, no-redef]
    return parser.loads(text)


def _check_keys(table: Mapping[str, Any]) -> None:
    for key in table:
        if key not in _KEYS:
            hint = suggest(key, _KEYS)
            raise pytest.UsageError(f"loomrec: unknown key `{key}` in {_TABLE}; {hint}")


def suggest(word: str, known: tuple[str, ...]) -> str:
    """Returns the known word that is nearest, or else all of them."""
    near = difflib.get_close_matches(word, known, 1, 0.6)
    return f"did you mean `{near[0]}`?" if near else "known: " + ", ".join(known)


def _checked(key: str, value: Any) -> Any:
    if key in _LISTS:
        if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
            raise pytest.UsageError(f"loomrec: `{key}` in {_TABLE} must be a list of texts")
        return tuple(value)
    if key == "fail_unused":
        if not isinstance(value, bool):
            raise pytest.UsageError(f"loomrec: `fail_unused` in {_TABLE} must be true or false")
        return value
    if not isinstance(value, str) or not value:
        raise pytest.UsageError(f"loomrec: `{key}` in {_TABLE} must be a text")
    if key == "mode" and value not in MODES:
        raise pytest.UsageError(f"loomrec: `mode` in {_TABLE} must be one of {', '.join(MODES)}")
    if key == "recordings" and (os.path.isabs(value) or ".." in Path(value).parts):
        raise pytest.UsageError(
            f"loomrec: `recordings` in {_TABLE} must be a folder beside the tests"
        )
    return value
