"""The rules that a release must meet: licences and bans of crates, one version everywhere."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from conftest import ROOT
from package_formats.licence import is_allowed
from package_formats.project import publishing_problems, version, version_problems

ALLOWED = ["MIT", "Apache-2.0", "ISC"]
CONFIG = ROOT / ".cargo/deny.toml"


@pytest.mark.parametrize(
    ("expression", "met"),
    [
        ("MIT", True),
        ("GPL-3.0-only", False),
        ("GPL-3.0-only OR MIT", True),
        ("MIT AND GPL-3.0-only", False),
        ("(MIT OR GPL-3.0-only) AND ISC", True),
        ("MIT OR GPL-3.0-only AND ISC", True),
        ("GPL-3.0-only AND (MIT OR ISC)", False),
        ("Apache-2.0 WITH LLVM-exception", False),
        ("MIT/GPL-2.0", True),
        ("MIT OR", False),
        ("(MIT", False),
        ("MIT MIT", False),
        ("", False),
    ],
)
def test_licence_expression_is_met_only_by_allowed_licences(expression, met):
    assert is_allowed(expression, ALLOWED) is met


def test_crates_of_the_project_meet_the_rules():
    done = _deny()
    assert done.returncode == 0, done.stderr
    assert ", 0 problems" in done.stdout


@pytest.mark.parametrize(
    ("before", "after", "problem"),
    [
        ('    "ISC",\n', "", "is under"),
        ('{ crate = "openssl" }', '{ crate = "ring" }', "ban: ring"),
    ],
)
def test_stricter_rules_name_the_crate(tmp_path, before, after, problem):
    text = CONFIG.read_text()
    assert before in text
    stricter = tmp_path / "deny.toml"
    stricter.write_text(text.replace(before, after))
    done = _deny("--config", stricter)
    assert done.returncode == 1
    assert problem in done.stderr and "ring" in done.stderr


def test_crate_from_git_or_without_licence_is_refused(tmp_path):
    words = ["cargo", "metadata", "--format-version", "1", "--locked", "--manifest-path", ROOT / "Cargo.toml"]
    metadata = json.loads(subprocess.check_output(words))
    for package in metadata["packages"]:
        if package["name"] == "bytes":
            package["source"] = "git+https://git.example.com/bytes"
        if package["name"] == "memchr":
            package["license"] = None
        if package["name"] == "itoa":
            package["license"] = "GPL-3.0-only"
    changed = tmp_path / "metadata.json"
    changed.write_text(json.dumps(metadata))
    done = _deny("--metadata", changed)
    assert done.returncode == 1
    assert "source: bytes" in done.stderr
    assert "licence: memchr" in done.stderr
    assert "is under GPL-3.0-only" in done.stderr


def test_one_version_stands_everywhere():
    assert version_problems() == []


def test_other_version_is_named(tmp_path):
    root = _manifests(tmp_path)
    text = (root / "Cargo.toml").read_text()
    (root / "Cargo.toml").write_text(text.replace('path = "src/os", version = "', 'path = "src/os", version = "9'))
    node = {"version": "9.0.0", "optionalDependencies": {"@loomrec/cli-linux-x64": version(), "@loomrec/cli-x": "8.0.0"}}
    (root / "src/node/package.json").write_text(json.dumps(node))
    found = version_problems(root, tag="v7.0.0")
    places = [problem.split(" is ")[0] for problem in found]
    assert "Cargo.toml: workspace.dependencies.loomrec-os" in places
    assert "src/node/package.json: version" in places
    assert "src/node/package.json: optionalDependencies.@loomrec/cli-x" in places
    assert "the tag" in places
    assert len(places) == 4
    publishing = "\n".join(publishing_problems(root))
    assert f"has no section for {version()}" in publishing
    assert "no package @loomrec/cli-x is made" in publishing and "cli-linux-arm64 is missing" in publishing


def _manifests(folder: Path) -> Path:
    for name in ("Cargo.toml", "src/python/pyproject.toml", "docs/CHANGELOG.md"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    (folder / "src/node").mkdir()
    return folder


def _deny(*arguments: str | Path) -> subprocess.CompletedProcess:
    return subprocess.run([ROOT / "scripts/deny", *arguments], capture_output=True, encoding="utf-8")
