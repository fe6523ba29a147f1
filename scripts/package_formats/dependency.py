"""The crates that are built into the binary, as `cargo metadata` lists them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from .project import ROOT, run


@dataclass(frozen=True, order=True)
class Crate:
    """One crate of the build."""

    name: str
    version: str
    licence: str | None
    """The SPDX expression of its Cargo.toml."""
    source: str | None
    """Where it comes from: `registry+…`, `git+…`; None for a crate of this project."""
    private: bool
    """Whether it is never published."""

    def __str__(self) -> str:
        return f"{self.name} {self.version}"


def load_metadata(targets: Iterable[str], manifest: Path = ROOT / "Cargo.toml") -> dict:
    """Returns what `cargo metadata` says of the locked crates for these targets."""
    words = ["cargo", "metadata", "--format-version", "1", "--locked", "--manifest-path", manifest]
    # What is shipped has all features.
    words += ["--all-features"]
    for target in targets:
        words += ["--filter-platform", target]
    return json.loads(run(words))


def all_crates(metadata: dict) -> list[Crate]:
    """Returns every crate that builds or tests need."""
    return sorted(_crate(package) for package in metadata["packages"])


def shipped_crates(metadata: dict, root: str = "loomrec") -> list[Crate]:
    """Returns the crates that a package of `root` is built from, without those of its tests."""
    packages = {package["id"]: package for package in metadata["packages"]}
    nodes = {node["id"]: node for node in metadata["resolve"]["nodes"]}
    waiting = [key for key, package in packages.items() if package["name"] == root]
    seen = set(waiting)
    while waiting:
        for dependency in nodes[waiting.pop()]["deps"]:
            built_in = any(kind["kind"] != "dev" for kind in dependency["dep_kinds"])
            if built_in and dependency["pkg"] not in seen:
                seen.add(dependency["pkg"])
                waiting.append(dependency["pkg"])
    return sorted(_crate(packages[key]) for key in seen)


def _crate(package: dict) -> Crate:
    return Crate(
        package["name"], package["version"], package["license"], package["source"],
        package["publish"] == [],
    )
