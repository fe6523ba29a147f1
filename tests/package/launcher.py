"""What every way of starting loomrec must do: run, pass on codes, pass on signals."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

#: A command that says when it is ready, and ends with a code of its own on SIGTERM and SIGINT.
PATIENT = """
trap 'echo caught TERM; exit 41' TERM
trap 'echo caught INT; exit 42' INT
echo ready
while :; do sleep 0.1; done
"""


def check_launcher(launcher: Sequence[str], environment: dict[str, str], folder: Path) -> None:
    """Runs every check of this module."""
    check_demo(launcher, environment, folder)
    check_exit_codes(launcher, environment, folder)
    check_signal(launcher, environment, folder, signal.SIGTERM, 41)
    check_signal(launcher, environment, folder, signal.SIGINT, 42)
    check_server_signal(launcher, environment, folder)


def check_demo(launcher: Sequence[str], environment: dict[str, str], folder: Path) -> None:
    done = _run([*launcher, "demo"], environment, folder)
    assert done.returncode == 0, done.stderr
    assert "RecordingMismatchError" in done.stdout
    version = _run([*launcher, "--version"], environment, folder)
    assert version.stdout.startswith("loomrec 0."), version


def check_exit_codes(launcher: Sequence[str], environment: dict[str, str], folder: Path) -> None:
    for code in (0, 7):
        done = _run([*_record(launcher, folder), "sh", "-c", f"exit {code}"], environment, folder)
        assert done.returncode == code, done.stderr
    killed = _run([*_record(launcher, folder), "sh", "-c", "kill -KILL $$"], environment, folder)
    assert killed.returncode == 137, killed.stderr
    usage = _run([*launcher, "record", "--no-such-flag"], environment, folder)
    assert usage.returncode == 2, usage.stderr


def check_signal(
    launcher: Sequence[str], environment: dict[str, str], folder: Path, number: int, code: int
) -> None:
    """A signal to the launcher alone reaches the wrapped command, whose code comes back."""
    process = _start([*_record(launcher, folder), "bash", "-c", PATIENT], environment, folder)
    try:
        _wait_for(process, "ready")
        process.send_signal(number)
        out, err = process.communicate(timeout=30)
        assert process.returncode == code, (process.returncode, out, err)
        assert f"caught {signal.Signals(number).name.removeprefix('SIG')}" in out
    finally:
        _end(process)


def check_server_signal(launcher: Sequence[str], environment: dict[str, str], folder: Path) -> None:
    """A signal stops a server without a command, and no process is left."""
    words = [*launcher, "record", "-r", str(folder / "server.json"), "--listen", "127.0.0.1:0"]
    process = _start(words, environment, folder)
    try:
        assert process.stderr is not None
        while "listening on" not in (line := process.stderr.readline()):
            assert line, "the server ended before it listened"
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=30)
        assert process.returncode == 0, err
        _wait_for_empty_group(process.pid)
    finally:
        _end(process)


def _record(launcher: Sequence[str], folder: Path) -> list[str]:
    return [*launcher, "record", "-r", str(folder / "run.json"), "--allow-empty", "--"]


def _run(words: Sequence[str], environment: dict[str, str], folder: Path) -> subprocess.CompletedProcess:
    return subprocess.run(
        words, env=environment, cwd=folder, capture_output=True, encoding="utf-8", timeout=120,
        stdin=subprocess.DEVNULL,
    )


def _start(words: Sequence[str], environment: dict[str, str], folder: Path) -> subprocess.Popen:
    return subprocess.Popen(
        words, env=environment, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.PIPE, encoding="utf-8", start_new_session=True,
    )


def _wait_for(process: subprocess.Popen, word: str) -> None:
    assert process.stdout is not None
    for line in process.stdout:
        if word in line:
            return
    raise AssertionError(f"the command ended before it said {word!r}")


def _wait_for_empty_group(group: int) -> None:
    for _ in range(100):
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return
        time.sleep(0.05)
    raise AssertionError("a process of the launcher is left")


def _end(process: subprocess.Popen) -> None:
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()
