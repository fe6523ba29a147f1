"""The built binary: its version, its manual pages and completions, the libraries it needs."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from .project import PackageError, run, version

#: A shell, and the name of its completions' file.
COMPLETIONS = {"bash": "loomrec", "zsh": "_loomrec", "fish": "loomrec.fish"}


def check_version(binary: Path) -> None:
    """Raises `PackageError` if the binary is not of the workspace's version."""
    said = run([binary.resolve(), "--version"]).strip()
    if said != f"loomrec {version()}":
        raise PackageError(f"{binary} says {said!r}, but Cargo.toml has {version()}; build it again")


def write_manual(binary: Path, folder: Path) -> list[Path]:
    """Writes a manual page for each command, and returns them."""
    folder.mkdir(parents=True, exist_ok=True)
    run([binary.resolve(), "config", "--generate", "man", "-o", folder])
    return sorted(folder.iterdir())


def completions(binary: Path, shell: str) -> str:
    """Returns the completions for a shell."""
    return run([binary.resolve(), "config", "--generate", shell])


@dataclass(frozen=True)
class Linkage:
    """What the binary asks of the system's libraries."""

    libraries: frozenset[str]
    """Such as `libc.so.6`; empty for a static binary."""
    glibc: tuple[int, int] | None
    """The oldest glibc that has all its functions."""


def linkage(binary: Path) -> Linkage:
    """Reads the linkage of an ELF binary, with `readelf`."""
    said = run(["readelf", "--wide", "--dynamic", "--version-info", binary])
    libraries = re.findall(r"\(NEEDED\)\s+Shared library: \[(.+?)\]", said)
    versions = [(int(a), int(b)) for a, b in re.findall(r"Name: GLIBC_(\d+)\.(\d+)", said)]
    return Linkage(frozenset(libraries), max(versions, default=None))
