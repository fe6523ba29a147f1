"""The commit hook, run by pre-commit in a scratch repository."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest

from conftest import LEADING, ROOT, TOOLS, one_package
from package_formats.target import host_triple


@pytest.fixture
def project(tmp_path) -> tuple[Path, Path, dict[str, str]]:
    """A repository with a recording, one with the hook, and variables with loomrec on the PATH."""
    with tarfile.open(one_package(f"loomrec-{host_triple()}.tar.gz")) as archive:
        archive.extractall(tmp_path, filter="data")
    kept = {name: value for name, value in os.environ.items() if not name.startswith((*LEADING, "GIT_"))}
    path = os.pathsep.join([str(tmp_path / f"loomrec-{host_triple()}"), str(TOOLS), os.environ["PATH"]])
    environment = {**kept, "PATH": path, "HOME": str(tmp_path), "PRE_COMMIT_HOME": str(tmp_path / "cache")}
    hooks, repository = tmp_path / "hooks", tmp_path / "repository"
    hooks.mkdir()
    shutil.copy(ROOT / ".pre-commit-hooks.yaml", hooks)
    (repository / "recordings").mkdir(parents=True)
    shutil.copy(ROOT / "recordings/demo.json", repository / "recordings/agent.json")
    (repository / "other.json").write_text("{}")
    for folder in (hooks, repository):
        for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "first"]):
            identity = ["-c", "user.name=test", "-c", "user.email=test@example.com"]
            subprocess.run(["git", *identity, *words], cwd=folder, env=environment, check=True)
    return repository, hooks, environment


def test_sound_recording_passes(project):
    done = _try_hook(project)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "Passed" in done.stdout


def test_damaged_recording_fails_and_is_named(project):
    repository = project[0]
    recording = repository / "recordings/agent.json"
    text = recording.read_text()
    assert "Paris" in text
    recording.write_text(text.replace("Paris", "Oslo", 1))
    done = _try_hook(project)
    assert done.returncode == 1
    assert "Failed" in done.stdout and "agent.json" in done.stdout


def test_credential_in_a_recording_fails(project):
    repository = project[0]
    recording = repository / "recordings/agent.json"
    data = json.loads(recording.read_text())
    entry = next(value for key, value in data.items() if not key.startswith("_"))
    entry["request"]["body"]["messages"][0]["content"] += " ghp_" + "a1B2" * 9
    recording.write_text(json.dumps(data))
    done = _try_hook(project)
    assert done.returncode == 1


def _try_hook(project) -> subprocess.CompletedProcess:
    repository, hooks, environment = project
    words = ["pre-commit", "try-repo", str(hooks), "loomrec-verify", "--all-files", "--color", "never"]
    return subprocess.run(words, cwd=repository, env=environment, capture_output=True, encoding="utf-8")
