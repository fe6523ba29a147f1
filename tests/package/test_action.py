"""The scripts of the GitHub action, run by bash with what a runner would give them."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT, bare_environment, one_package
from package_formats.project import version
from package_formats.target import host_triple

ACTION = ROOT / ".github/actions/loomrec"
ARCHIVE = f"loomrec-{host_triple()}.tar.gz"
#: A program that makes a recorded call, with another question if it is given one.
AGENT = """
import json, os, sys, urllib.request
data = json.load(open("recordings/agent.json"))
request = next(entry for key, entry in data.items() if not key.startswith("_"))["request"]
body = request["body"]
if len(sys.argv) > 1:
    body["messages"][-1]["content"] = sys.argv[1]
url = os.environ["OPENAI_BASE_URL"] + request["path"].removeprefix("/v1")
headers = {"content-type": "application/json", "authorization": "Bearer " + os.environ["OPENAI_API_KEY"]}
try:
    print(len(urllib.request.urlopen(urllib.request.Request(url, json.dumps(body).encode(), headers)).read()))
except urllib.error.HTTPError as error:
    print("status", error.code)
"""


class Runner:
    """A job of a workflow: its folders, and the variables that steps leave to later ones."""

    def __init__(self, home: Path) -> None:
        self.work = home / "work"
        (self.work / "recordings").mkdir(parents=True)
        shutil.copy(ROOT / "recordings/demo.json", self.work / "recordings/agent.json")
        (self.work / "agent.py").write_text(AGENT)
        self.temp = home / "temp"
        self.temp.mkdir()
        self.releases = home / "releases"
        for release in ("latest/download", f"download/v{version()}"):
            (self.releases / release).mkdir(parents=True)
            shutil.copy(one_package(ARCHIVE), self.releases / release)
            shutil.copy(one_package("SHA256SUMS"), self.releases / release)
        programs = ("awk", "curl", "cut", "git", "grep", "gzip", "mkdir", "nohup", "printf", "rm", "tar", "xargs")
        self.environment = {
            **bare_environment(home, *programs, *_sha256_programs()),
            "RUNNER_OS": "macOS" if sys.platform == "darwin" else "Linux",
            "RUNNER_ARCH": "ARM64" if platform.machine() in ("aarch64", "arm64") else "X64",
            "RUNNER_TEMP": str(self.temp),
            "GITHUB_STEP_SUMMARY": str(home / "summary.md"),
            "LOOMREC_ACTION_VERSION": "latest",
            "LOOMREC_ACTION_SHA256": "",
            "LOOMREC_ACTION_RELEASES": self.releases.as_uri(),
            "LOOMREC_ACTION_DO": "run",
            "LOOMREC_ACTION_RUN": "",
            "LOOMREC_ACTION_MODE": "replay",
            "LOOMREC_ACTION_RECORDING": "recordings/agent.json",
            "LOOMREC_ACTION_ARGS": "",
            "LOOMREC_ACTION_LISTEN": "127.0.0.1:4141",
            "LOOMREC_ACTION_WAIT": "30",
        }
        for name in ("GITHUB_ENV", "GITHUB_PATH", "GITHUB_OUTPUT"):
            self.environment[name] = str(home / name)
            (home / name).touch()

    def step(self, script: str, **variables: str) -> subprocess.CompletedProcess:
        """Runs a script of the action as a step, and keeps what it leaves to later steps."""
        done = self.run([str(ACTION / f"{script}.sh")], **variables)
        for folder in Path(self.environment["GITHUB_PATH"]).read_text().split():
            if folder not in self.environment["PATH"]:
                self.environment["PATH"] = f"{folder}:{self.environment['PATH']}"
        return done

    def run(self, words: list[str], **variables: str) -> subprocess.CompletedProcess:
        environment = {**self.environment, **variables}
        return subprocess.run(
            words, cwd=self.work, env=environment, capture_output=True, encoding="utf-8", timeout=120,
            stdin=subprocess.DEVNULL,
        )

    def exported(self) -> dict[str, str]:
        """Returns the variables of GITHUB_ENV, read as a runner reads them."""
        lines = iter(Path(self.environment["GITHUB_ENV"]).read_text().splitlines())
        found = {}
        for line in lines:
            name, end = line.split("<<")
            value = []
            while (part := next(lines)) != end:
                value.append(part)
            found[name] = "\n".join(value)
        return found


def _sha256_programs() -> list[str]:
    return ["sha256sum"] if shutil.which("sha256sum") else ["shasum"]


@pytest.fixture
def runner(tmp_path) -> Runner:
    return Runner(tmp_path)


@pytest.fixture
def installed(runner) -> Runner:
    done = runner.step("install")
    assert done.returncode == 0, done.stderr
    return runner


@pytest.mark.parametrize("named", ["latest", version(), f"v{version()}"])
def test_install_puts_the_release_on_the_path(runner, named):
    done = runner.step("install", LOOMREC_ACTION_VERSION=named)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"loomrec {version()}\n"
    assert runner.run(["loomrec", "--version"]).stdout == f"loomrec {version()}\n"


def test_install_refuses_a_changed_archive(runner):
    with (runner.releases / "latest/download" / ARCHIVE).open("ab") as archive:
        archive.write(b"more")
    done = runner.step("install")
    assert done.returncode == 1
    assert "::error::" in done.stderr and "SHA-256" in done.stderr
    assert Path(runner.environment["GITHUB_PATH"]).read_text() == ""


def test_install_trusts_the_given_checksum_alone(runner):
    """A release whose archive and checksums were both replaced is refused too."""
    right = hashlib.sha256(one_package(ARCHIVE).read_bytes()).hexdigest()
    assert runner.step("install", LOOMREC_ACTION_SHA256=right).returncode == 0
    wrong = runner.step("install", LOOMREC_ACTION_SHA256="0" * 64)
    assert wrong.returncode == 1 and "0000" in wrong.stderr


def test_install_names_a_release_that_does_not_exist_and_a_foreign_platform(runner):
    missing = runner.step("install", LOOMREC_ACTION_VERSION="9.9.9")
    assert missing.returncode == 1 and "v9.9.9" in missing.stderr
    foreign = runner.step("install", RUNNER_OS="Windows")
    assert foreign.returncode == 1 and "Windows" in foreign.stderr


def test_run_replays_the_command_and_leaves_a_report(installed):
    done = installed.step("serve", LOOMREC_ACTION_RUN=f"{sys.executable} agent.py\necho done")
    assert done.returncode == 0, done.stderr
    assert done.stdout.endswith("done\n")
    receipt = json.loads((installed.temp / "loomrec-report/loomrec.json").read_text())
    assert receipt["verdict"] == "ok" and receipt["served"] == 1
    assert "receipt=" in Path(installed.environment["GITHUB_OUTPUT"]).read_text()
    assert "served" in Path(installed.environment["GITHUB_STEP_SUMMARY"]).read_text()


def test_run_fails_on_a_miss_and_keeps_the_request(installed):
    done = installed.step("serve", LOOMREC_ACTION_RUN=f"{sys.executable} agent.py 'Another question'")
    assert done.returncode == 1
    assert "RecordingMismatchError" in done.stderr
    assert (installed.temp / "loomrec-report/recording.pending").is_file()


def test_run_passes_on_the_commands_code_and_the_flags(installed):
    run = f"{sys.executable} agent.py; exit 5"
    assert installed.step("serve", LOOMREC_ACTION_RUN=run).returncode == 5
    journal = installed.work / "the journal"
    flags = "--fail-unused --journal 'the journal'"
    done = installed.step("serve", LOOMREC_ACTION_RUN=f"{sys.executable} agent.py", LOOMREC_ACTION_ARGS=flags)
    assert done.returncode == 1 and "unused" in done.stderr
    assert journal.is_file()


def test_server_serves_later_steps_until_it_is_stopped(installed):
    listen = f"127.0.0.1:{_free_port()}"
    start = installed.step("serve", LOOMREC_ACTION_DO="start", LOOMREC_ACTION_LISTEN=listen)
    assert start.returncode == 0, start.stderr + start.stdout
    exported = installed.exported()
    assert exported["OPENAI_BASE_URL"] == f"http://{listen}/openai/v1"
    assert not {"PATH", "HOME", "PWD", "SHLVL", "_"} & set(exported)
    agent = installed.run([sys.executable, "agent.py"], **exported)
    assert agent.returncode == 0 and int(agent.stdout) > 0, agent.stderr
    stop = installed.step("serve", LOOMREC_ACTION_DO="stop")
    assert stop.returncode == 0, stop.stderr
    assert "1 served" in stop.stdout
    with pytest.raises(OSError):
        socket.create_connection(("127.0.0.1", int(listen.split(":")[1])), 1)


def test_stopped_server_fails_the_job_after_a_miss(installed):
    listen = f"127.0.0.1:{_free_port()}"
    assert installed.step("serve", LOOMREC_ACTION_DO="start", LOOMREC_ACTION_LISTEN=listen).returncode == 0
    agent = installed.run([sys.executable, "agent.py", "Another question"], **installed.exported())
    assert agent.stdout == "status 422\n"
    stop = installed.step("serve", LOOMREC_ACTION_DO="stop")
    assert stop.returncode == 1
    assert "RecordingMismatchError" in stop.stdout and "::error::" in stop.stderr


def test_server_that_cannot_start_says_why(installed):
    done = installed.step(
        "serve", LOOMREC_ACTION_DO="start", LOOMREC_ACTION_RECORDING="recordings/none.json",
        LOOMREC_ACTION_LISTEN=f"127.0.0.1:{_free_port()}",
    )
    assert done.returncode == 1
    assert "none.json" in done.stderr and "::error::" in done.stderr


@pytest.mark.parametrize("changed", [True, False])
def test_comment_shows_what_changed_against_the_base_branch(installed, changed):
    recording = installed.work / "recordings/agent.json"
    after = recording.read_text()
    if changed:
        recording.write_text(after.replace("light coat", "heavy coat"))
    _commit_as_origin(installed)
    recording.write_text(after)
    gh = Path(installed.environment["PATH"].split(":")[-1]) / "gh"
    gh.write_text(f'#!/bin/sh\necho "$@" >>{installed.temp}/gh\ncat "$6" >{installed.temp}/body\n')
    gh.chmod(0o755)
    done = installed.step("comment", GITHUB_BASE_REF="main", LOOMREC_ACTION_NUMBER="12")
    assert done.returncode == 0, done.stderr
    assert (installed.temp / "gh").exists() is changed
    if changed:
        assert (installed.temp / "gh").read_text().startswith("pr comment 12 --edit-last --body-file")
        assert "heavy" in (installed.temp / "body").read_text()


def _commit_as_origin(runner: Runner) -> None:
    """Commits the folder, and makes the commit the branch `main` of a repository `origin`."""
    identity = ["-c", "user.name=test", "-c", "user.email=test@example.com"]
    origin = runner.temp / "origin.git"
    for words in (
        ["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-q", "-m", "before"],
        ["clone", "-q", "--bare", ".", str(origin)], ["remote", "add", "origin", str(origin)],
    ):
        done = runner.run(["git", *identity, *words])
        assert done.returncode == 0, done.stderr


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]
