"""The project that is packaged: its folder and version, and whether all places name this version."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

from .target import TARGETS

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / ".cache" / "package"
NODE = ROOT / "src" / "node"
PYTHON = ROOT / "src" / "python"
LICENCES = (ROOT / "LICENSE-MIT", ROOT / "LICENSE-APACHE")


class PackageError(RuntimeError):
    """A package could not be made; the message says why, and what to do."""


def run(words: Sequence[str | Path], *, cwd: Path = ROOT, **variables: str) -> str:
    """Runs a command and returns its stdout. Says on stderr what it runs.

    Raises `PackageError` if the command is missing or fails.
    """
    command = [str(word) for word in words]
    print(f"package: $ {' '.join(command)}", file=sys.stderr)
    try:
        done = subprocess.run(
            command, cwd=cwd, env={**os.environ, **variables}, stdout=subprocess.PIPE, check=True,
            encoding="utf-8",
        )
    except FileNotFoundError as error:
        raise PackageError(f"{command[0]} is needed and not on the PATH") from error
    except subprocess.CalledProcessError as error:
        raise PackageError(f"`{' '.join(command)}` failed with {error.returncode}") from error
    return done.stdout


def manifest(root: Path = ROOT) -> dict:
    """Returns Cargo.toml."""
    return tomllib.loads((root / "Cargo.toml").read_text(encoding="utf-8"))


def version(root: Path = ROOT) -> str:
    """Returns the version of the workspace, which every package takes."""
    return manifest(root)["workspace"]["package"]["version"]


def repository(root: Path = ROOT) -> str | None:
    """Returns the address of the project's repository; None while Cargo.toml names none."""
    url = manifest(root)["package"].get("repository")
    if url == {"workspace": True}:
        return manifest(root)["workspace"]["package"].get("repository")
    return url


def time_stamp() -> int:
    """Returns the time that archives give their files, in seconds since 1970.

    It is SOURCE_DATE_EPOCH, or else that of the commit: the same commit gives the same archive.
    """
    named = os.environ.get("SOURCE_DATE_EPOCH")
    return int(named or run(["git", "log", "-1", "--format=%ct"]).strip())


def version_problems(root: Path = ROOT, tag: str | None = None) -> list[str]:
    """Returns a line for each place whose version is not the workspace's."""
    wanted = version(root)
    found: dict[str, str] = {}
    for name, needed in manifest(root)["workspace"]["dependencies"].items():
        if name.startswith("loomrec-"):
            found[f"Cargo.toml: workspace.dependencies.{name}"] = needed["version"]
    python = tomllib.loads((root / "src/python/pyproject.toml").read_text(encoding="utf-8"))
    if "version" not in python["project"].get("dynamic", []):
        found["src/python/pyproject.toml: project.version"] = python["project"].get("version", "none")
    node = root / "src/node/package.json"
    if node.is_file():
        package = json.loads(node.read_text(encoding="utf-8"))
        found["src/node/package.json: version"] = package["version"]
        for name, needed in package.get("optionalDependencies", {}).items():
            found[f"src/node/package.json: optionalDependencies.{name}"] = needed
    if tag is not None:
        found["the tag"] = tag.removeprefix("v")
    return [f"{place} is {seen}, not {wanted}" for place, seen in found.items() if seen != wanted]


def publishing_problems(root: Path = ROOT) -> list[str]:
    """Returns what keeps users from the packages once they are published."""
    problems = []
    changes = (root / "docs/CHANGELOG.md").read_text(encoding="utf-8")
    if not re.search(rf"^## \[{re.escape(version(root))}\]", changes, re.MULTILINE):
        problems.append(f"docs/CHANGELOG.md has no section for {version(root)}")
    if repository(root) is None:
        problems.append(
            "Cargo.toml: package.repository is missing; cargo-binstall builds its download address"
            " from it, and npm checks the provenance against it"
        )
    node = root / "src/node/package.json"
    if node.is_file():
        listed = set(json.loads(node.read_text(encoding="utf-8")).get("optionalDependencies", {}))
        made = {f"@loomrec/cli-{target.npm}" for target in TARGETS.values()}
        problems += [f"src/node/package.json: no package {name} is made" for name in sorted(listed - made)]
        problems += [f"src/node/package.json: {name} is missing" for name in sorted(made - listed)]
    return problems
