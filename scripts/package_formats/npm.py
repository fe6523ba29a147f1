"""The npm packages: `@loomrec/cli`, and one with the binary for each platform, packed by `npm`."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path

from .project import LICENCES, NODE, PackageError, manifest, repository, run, version
from .target import TARGETS, Target

SCOPE = "@loomrec"


def make_platform_package(binary: Path, target: Target, out: Path) -> list[Path]:
    """Packs `@loomrec/cli-OS-CPU` with the binary."""
    description = {
        "name": f"{SCOPE}/cli-{target.npm}",
        "version": version(),
        "description": f"The loomrec binary for {target.npm}; install {SCOPE}/cli, which chooses it",
        "license": manifest()["workspace"]["package"]["license"],
        **_repository(),
        # npm must not run anything of it, and installers must not pack it: a package manager
        # that keeps packages in zip files would otherwise find no file to start.
        "preferUnplugged": True,
        "files": ["bin"],
        **target.npm_fields,
    }
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / "bin").mkdir()
        shutil.copy(binary, folder / "bin" / "loomrec")
        (folder / "bin" / "loomrec").chmod(0o755)
        return [_pack(folder, description, out)]


def make_main_package(out: Path) -> list[Path]:
    """Packs `@loomrec/cli` from src/node, with every platform's package at the exact version."""
    if not (NODE / "package.json").is_file():
        raise PackageError(f"{NODE} has no package.json")
    description = json.loads((NODE / "package.json").read_text(encoding="utf-8"))
    description["version"] = version()
    description["optionalDependencies"] = {
        f"{SCOPE}/cli-{target.npm}": version() for target in TARGETS.values()
    }
    description.update(_repository())
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "package"
        shutil.copytree(NODE, folder, ignore=shutil.ignore_patterns("node_modules", "*.test.*"))
        return [_pack(folder, description, out)]


def _repository() -> dict[str, object]:
    url = repository()
    return {"repository": {"type": "git", "url": f"git+{url}.git"}} if url else {}


def _pack(folder: Path, description: dict, out: Path) -> Path:
    (folder / "package.json").write_text(json.dumps(description, indent=2) + "\n", encoding="utf-8")
    for licence in LICENCES:
        shutil.copy(licence, folder)
    said = run(["npm", "pack", "--json", "--pack-destination", out.resolve()], cwd=folder)
    # npm answers with a list, or since its version 12 with an object of the packages.
    packed = json.loads(said)
    first = packed[0] if isinstance(packed, list) else next(iter(packed.values()))
    return out / first["filename"].replace("@", "").replace("/", "-")
