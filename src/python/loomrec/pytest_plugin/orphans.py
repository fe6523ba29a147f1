"""Recordings whose test no longer exists."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from loomrec.pytest_plugin.summary import RunSummary


def find_orphans(root: Path, folders: Iterable[str], name: str, summary: RunSummary) -> list[str]:
    """Returns the recordings that belong to no test, relative to the root.

    `folders` are those with tests; `name` is the name of the folder of recordings. Only
    `MODULE/TEST.json` below it is looked at: files of another form are not the plug-in's. Neither
    are those of a module that is there and was not collected.
    """
    known = set(summary.expected)
    found: set[str] = set()
    for folder in set(folders):
        for path in (root / folder / name).glob("*/*.json"):
            module = root / folder / f"{path.parent.name}.py"
            is_collected = module.relative_to(root).as_posix() in summary.modules
            if is_collected or not module.exists():
                found.add(path.relative_to(root).as_posix())
    return sorted(found - known)


def folders_of(summary: RunSummary) -> list[str]:
    """Returns the folders with tests, without those in which a file skipped itself."""
    folders = {Path(module).parent for module in summary.modules}
    skipped = [Path(nodeid) for nodeid in summary.uncollected]
    whole = (folder for folder in folders
             if not any(folder in path.parents or path in (folder, *folder.parents) for path in skipped))
    return sorted(folder.as_posix() for folder in whole)


def covered_folders(config: pytest.Config, folders: Iterable[str]) -> list[str]:
    """Returns the folders of which every test was asked for. None if tests were chosen."""
    if _chooses_tests(config):
        return []
    asked = [Path(config.invocation_params.dir, argument).resolve() for argument in config.args]
    return [folder for folder in folders if _is_covered(config.rootpath / folder, asked)]


def _chooses_tests(config: pytest.Config) -> bool:
    """Whether the command line asks for some tests of a file only, or leaves files out."""
    chosen = any("::" in argument for argument in config.args)
    for option in ("keyword", "markexpr", "lf", "ignore", "ignore_glob", "deselect", "collectonly"):
        chosen = chosen or bool(config.getoption(option, default=None))
    return chosen


def _is_covered(folder: Path, asked: list[Path]) -> bool:
    folder = folder.resolve()
    return any(path == folder or path in folder.parents for path in asked)


def orphans_of_run(
    config: pytest.Config, reporter: Any, exitstatus: int, name: str, summary: RunSummary
) -> list[str]:
    """Returns the orphans after a run that has seen all tests of their folders, else none."""
    if exitstatus not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED) or summary.deselected:
        return []
    session = reporter._session
    if session is not None and (session.shouldstop or session.shouldfail):
        return []
    if not any(reporter.stats.get(outcome) for outcome in ("passed", "failed")):
        return []  # nothing ran: --fixtures, --setup-plan
    if any(report.when == "collect" for report in reporter.stats.get("error", [])):
        return []
    folders = covered_folders(config, folders_of(summary))
    return find_orphans(config.rootpath, folders, name, summary)
