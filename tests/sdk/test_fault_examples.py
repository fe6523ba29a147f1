"""The examples of faults, and what docs/faults.md prints, are what the binary does."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fault_cases import DOCUMENT, ROOT

EXAMPLES = ROOT / "recordings/faults"
README = EXAMPLES / "README.md"
ROW = re.compile(r"^\| \[(\w+)\.json\]\(\1\.json\) \| (?:`(--stream)` )?\| (.+) \|$", re.M)
FILE = re.compile(r"`([\w.]+\.(?:json|yaml))`[^\n]*:\n\n```(?:json|yaml)\n(.*?)```", re.S)
CONSOLE = re.compile(r"^```console\n(.*?)^```", re.S | re.M)
COMMAND = re.compile(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", re.M)
ROWS = ROW.findall(README.read_text(encoding="utf-8"))


def test_each_recording_has_its_row():
    assert sorted(name for name, _, _ in ROWS) == sorted(path.stem for path in EXAMPLES.glob("*.json"))


@pytest.mark.parametrize(("name", "flag", "met"), ROWS, ids=[name for name, _, _ in ROWS])
def test_an_example_goes_as_its_row_says(name, flag, met, loomrec):
    line = [loomrec.binary, "replay", "-r", str(EXAMPLES / f"{name}.json"), "--",
            "python3", str(EXAMPLES / "ask.py"), *([flag] if flag else [])]
    done = subprocess.run(line, capture_output=True, encoding="utf-8", timeout=60, env=_environment(loomrec))
    assert done.returncode == 0, done.stderr
    said = [it.split(": ")[1] for it in done.stdout.splitlines()]
    wanted = [it.split(":")[0].strip("`") for it in met.split(", ")]
    answer = "calls get_weather for Paris" if name == "tool_call_fault" else "Yes, take an umbrella."
    assert said == [answer if it == "the answer" else it for it in wanted]
    assert "warning" not in done.stderr, done.stderr


@pytest.mark.parametrize("document", [DOCUMENT, README], ids=["docs", "recordings"])
def test_what_a_document_prints_is_what_happens(document, loomrec, tmp_path):
    text = document.read_text(encoding="utf-8")
    # Files that are written (a journal) are the example's own.
    shutil.copytree(EXAMPLES, tmp_path / "recordings/faults")
    for name, content in FILE.findall(text):
        (tmp_path / name).write_text(content, encoding="utf-8")
    examples = [example for block in CONSOLE.findall(text) for example in COMMAND.findall(block)]
    assert examples, "the search is broken"
    for command, printed in examples:
        done = subprocess.run(["bash", "-c", command], cwd=tmp_path, env=_environment(loomrec), timeout=60,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8")
        assert _masked(done.stdout) == _masked(printed), f"{command}\n{done.stdout}"


def _environment(loomrec) -> dict[str, str]:
    folders = [Path(loomrec.binary).parent, Path(sys.executable).parent]
    path = os.pathsep.join([*map(str, folders), os.environ["PATH"]])
    return {"PATH": path, "HOME": os.environ.get("HOME", "/"), "PYTHONUNBUFFERED": "1"}


def _masked(text: str) -> str:
    """What is another in each run, taken out."""
    text = re.sub(r"127\.0\.0\.1:\w+", "127.0.0.1:PORT", text)
    text = re.sub(r"sha256 \w+", "sha256 HASH", text)
    text = re.sub(r"[\d.]+ m?s\b", "TIME", text)
    lines = [re.sub(r" +", " ", line).rstrip() for line in text.strip().splitlines()]
    return "\n".join(lines)
