"""A project's own pytest run, recorded once and replayed in CI, as the README has it."""

import shutil
from pathlib import Path

import pytest

import loop as ways
from conftest import assert_green

PYTEST = ["pytest", "-q", "-p", "no:cacheprovider"]


@pytest.fixture
def project(tmp_path):
    """A copy of the project, to run in and to change."""
    return Path(shutil.copytree(Path(__file__).parent / "pytest_project", tmp_path / "project"))


def test_the_project_passes_against_the_upstream(upstream, project):
    done = ways.direct(upstream.url, PYTEST, project)
    assert done.code == 0, done.stdout
    assert "4 passed" in done.stdout


def test_the_project_passes_on_replay_and_fails_when_its_prompt_changes(loomrec, upstream, project):
    loomrec.where = project
    recording = project / "assistant.json"
    recorded = loomrec.record(recording, upstream.url, PYTEST)
    assert recorded.code == 0 and "4 passed" in recorded.stdout, recorded.stdout + recorded.stderr
    upstream.go_dark()

    replayed = loomrec.replay(recording, PYTEST, "--fail-unused")
    assert replayed.code == 0 and "4 passed" in replayed.stdout, replayed.stdout + replayed.stderr
    assert_green(replayed, upstream)
    ways.assert_no_key_below(project, recorded.stderr, replayed.stderr)

    program = project / "assistant.py"
    program.write_text(program.read_text().replace("five words", "six words"))
    changed = loomrec.replay(recording, PYTEST)
    assert changed.code == 1 and "4 failed" in changed.stdout
    assert "RecordingMismatchError" in changed.stdout and "/messages/0/content" in changed.stdout
    assert changed.receipt["missed"] == 4
    assert upstream.connections_in_the_dark == 0
