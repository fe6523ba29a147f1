"""Recordings of tests that were renamed or moved: the calls that a test missed prove which is its.

Nothing is moved: the end of the run prints the command.
"""

from __future__ import annotations

import json
import os
import shlex
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from loomrec.pytest_plugin.sources import is_skipped
from loomrec.pytest_plugin.summary import RunSummary

#: The most bytes of a recording that is looked into.
_MOST_BYTES = 64 << 20


def find_moves(config: pytest.Config, name: str, summary: RunSummary) -> dict[str, str]:
    """Returns recordings of renamed tests, each with its new path, both relative to the root.

    A recording is one if no test has it, and all calls that a test without a recording has missed
    are in it. If that is true of several recordings or tests, nothing is proved.
    """
    missing = {test.recording: set(test.missing) for test in summary.tests.values() if test.missing}
    if not missing or any("::" in argument for argument in config.args):
        return {}
    fitting: dict[str, list[str]] = defaultdict(list)
    for old in _unused(config, name, summary):
        hashes = _hashes(config.rootpath / old)
        for new, calls in missing.items():
            if calls <= hashes:
                fitting[new].append(old)
    olds = [old for found in fitting.values() for old in found]
    return {found[0]: new for new, found in sorted(fitting.items())
            if len(found) == 1 and olds.count(found[0]) == 1}


def describe_moves(config: pytest.Config, moves: Mapping[str, str]) -> list[str]:
    """Returns the text with the command that moves recordings; nothing if there are none."""
    if not moves:
        return []
    found = ("a renamed test are in a recording without a test. To move it" if len(moves) == 1 else
             f"{len(moves)} renamed tests are in recordings without a test. To move them")
    return [f"the calls of {found}:\n  {move_command(config, moves)}"]


def move_command(config: pytest.Config, moves: Mapping[str, str]) -> str:
    """Returns the command, for the folder in which pytest was started."""
    shown = {old: _shown(config, old) for pair in moves.items() for old in pair}
    kept: dict[str, list[str]] = defaultdict(list)
    commands = []
    for old, new in moves.items():
        if os.path.basename(old) == os.path.basename(new):
            kept[os.path.dirname(shown[new])].append(shown[old])
        else:
            commands.append(shlex.join(["mv", shown[old], shown[new]]))
    commands += [shlex.join(["mv", *olds, folder + "/"]) for folder, olds in kept.items()]
    folders = sorted({os.path.dirname(new) for new in moves.values()})
    made = [_shown(config, folder) for folder in folders if not (config.rootpath / folder).is_dir()]
    return " && ".join(([shlex.join(["mkdir", "-p", *made])] if made else []) + commands)


def _shown(config: pytest.Config, path: str) -> str:
    return os.path.relpath(config.rootpath / path, config.invocation_params.dir)


def _unused(config: pytest.Config, name: str, summary: RunSummary) -> Iterator[str]:
    """Returns recordings that certainly have no test: all tests of their module were collected, or
    there is no such module."""
    root, known = config.rootpath, set(summary.expected)
    whole = set() if config.getoption("lf", default=False) else set(summary.modules)
    skipped = config.getini("norecursedirs")
    for where, folders, _ in os.walk(root):
        folders[:] = sorted(each for each in folders if not is_skipped(Path(where, each), skipped))
        if os.path.basename(where) != name:
            continue
        for path in sorted(Path(where).glob("*/*.json")):
            module = Path(where).parent / f"{path.parent.name}.py"
            recording = path.relative_to(root).as_posix()
            is_whole = module.relative_to(root).as_posix() in whole or not module.exists()
            if is_whole and recording not in known:
                yield recording


def _hashes(path: Path) -> set[str]:
    """Returns the hashes of the calls in a recording."""
    try:
        if path.stat().st_size > _MOST_BYTES:
            return set()
        content = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return set()
    if not isinstance(content, dict) or "_loomrec" not in content:
        return set()
    found = set(content)
    for takes in content.values():
        for take in takes if isinstance(takes, list) else [takes]:
            if isinstance(take, dict) and isinstance(take.get("request_hash"), str):
                found.add(take["request_hash"])
    return found
