"""The packages under test, and environments that hold nothing but what a user has."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = Path(os.environ.get("LOOMREC_PACKAGES", ROOT / "target/packages"))
#: Where tests/package/run has installed the tools.
TOOLS = Path(sys.executable).parent
#: Variables that would lead a package to something outside of it.
LEADING = ("LOOMREC_", "PYTHON", "NODE_", "npm_", "VIRTUAL_ENV", "CARGO", "RUST", "PIP_", "GITHUB_", "RUNNER_")

sys.path.insert(0, str(ROOT / "scripts"))


def one_package(pattern: str) -> Path:
    """Returns the only package whose name matches. A test without its package fails."""
    found = sorted(PACKAGES.glob(pattern))
    assert len(found) == 1, f"{PACKAGES} holds {[f.name for f in found]} for {pattern}"
    return found[0]


def bare_environment(folder: Path, *programs: str) -> dict[str, str]:
    """Returns variables whose PATH has these programs and no other: no cargo, no installed loomrec."""
    path = folder / "path"
    path.mkdir()
    for program in ("bash", "sh", "env", "sleep", "cat", *programs):
        found = shutil.which(program)
        assert found, f"{program} is not on the PATH"
        # Some programs are wrappers that find their rest beside themselves.
        (path / program).symlink_to(Path(found).resolve())
    kept = {name: value for name, value in os.environ.items() if not name.startswith(LEADING)}
    return {**kept, "PATH": str(path), "HOME": str(folder)}


@pytest.fixture
def skip_without():
    """Skips a test on machines without a program, and says so."""

    def skip(*programs: str) -> None:
        for program in programs:
            if shutil.which(program) is None:
                pytest.skip(f"{program} is not installed")

    return skip
