"""A prompt that changed: red, fetched anew, accepted, green; and git sees that call alone."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

import loop as ways

PYTEST = ["pytest", "-q", "-p", "no:cacheprovider"]
KEY = "sk-rerecord-test-0123456789abcdefghij"


@pytest.fixture
def project(tmp_path):
    """A copy of the project under git, to run in and to change."""
    home = Path(shutil.copytree(Path(__file__).parent / "pytest_project", tmp_path / "project"))
    git(home, "init", "--quiet")
    return home


def git(where, *arguments):
    """What git says, with nothing of this machine's settings."""
    env = {"PATH": os.environ["PATH"], "HOME": str(where), "GIT_CONFIG_GLOBAL": os.devnull,
           "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.com",
           "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.com"}
    done = subprocess.run(["git", *arguments], cwd=where, env=env, capture_output=True, text=True, check=True)
    return done.stdout


def test_a_changed_prompt_is_red_fetched_accepted_and_green(loomrec, upstream, project):
    loomrec.where = project
    recording = project / "assistant.json"
    recorded = loomrec.record(recording, upstream.url, PYTEST)
    assert recorded.code == 0 and "4 passed" in recorded.stdout, recorded.stdout + recorded.stderr
    git(project, "add", "assistant.json")
    git(project, "commit", "--quiet", "-m", "recorded")
    upstream.forget()

    program = project / "assistant.py"
    text = program.read_text()
    head, tell = text.split("def tell")
    program.write_text(head + "def tell" + tell.replace("PROMPT.format(text=text)", '"Tell me in pieces: " + text'))
    red = loomrec.replay(recording, PYTEST, "--pending", "assistant.json.pending")
    assert red.code == 1 and "1 failed, 3 passed" in red.stdout, red.stdout
    assert "RecordingMismatchError" in red.stdout and "drifted" in red.stdout
    assert red.receipt["pending"] == {"path": "assistant.json.pending", "calls": 1}
    commands = [line.strip() for line in red.stderr.splitlines() if line.startswith("    ")]
    commands = [line for line in commands if line.startswith(("loomrec ", "git "))]
    assert [line.split()[:2] for line in commands] == [
        ["loomrec", "rerecord"], ["loomrec", "review"], ["git", "commit"]], red.stderr
    assert upstream.counts()["requests"] == 0

    def run(line, *more):
        env = {"PATH": os.environ["PATH"], "HOME": str(project), "OPENAI_API_KEY": KEY}
        words = line.split()
        return subprocess.run([loomrec.binary, *words[1:], *more], cwd=project, env=env,
                              capture_output=True, text=True, check=False)

    fetched = run(commands[0], "--yes", "--upstream", f"openai={upstream.url}")
    assert fetched.returncode == 0, fetched.stderr
    assert upstream.counts()["requests"] == 1, "something else was called, too"
    assert git(project, "diff", "--stat") == ""
    upstream.go_dark()
    accepted = run(commands[1], "--accept")
    assert accepted.returncode == 0, accepted.stderr

    green = loomrec.replay(recording, PYTEST, "--fail-unused")
    assert green.code == 0 and "4 passed" in green.stdout, green.stdout + green.stderr
    assert git(project, "diff", "--name-only").split() == ["assistant.json"]
    changed = git(project, "diff", "--unified=0", "assistant.json")
    lines = [line for line in changed.splitlines() if line[:1] in "+-" and line[:3] not in ("+++", "---")]
    for other in ("the sea is wide", "the night is long", "bread needs time"):
        assert not any(other in line for line in lines), changed
    assert any("Tell me in pieces" in line for line in lines), changed
    ways.assert_no_key_below(project, red.stderr, fetched.stderr, accepted.stderr)
    assert KEY not in "".join(path.read_text(errors="replace") for path in project.glob("assistant.json*"))
