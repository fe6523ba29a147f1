"""What aimock recorded of the real SDKs is imported, and replayed to the same SDKs; what
loomrec recorded is exported, and served to them by aimock.

aimock keeps words, so words are compared: texts, tool calls, vectors."""

from __future__ import annotations

import contextlib
import json
import os
import re
import subprocess

import pytest

import loop as ways
from conftest import AIMOCK, assert_green, stop


def message(said: dict) -> dict:
    calls = [(call["id"], call["function"]["name"], json.loads(call["function"]["arguments"]))
             for call in said["tool_calls"] or []]
    return {"content": said["content"] or "", "calls": calls}


def blocks(said: dict) -> list:
    return [block.get("text") or (block["id"], block["name"], block["input"]) for block in said["content"]]


WORDS = {
    "openai_chat.py": lambda seen: message(seen["object"]["choices"][0]["message"]),
    "openai_tools.py": lambda seen: [[message(said) for said in seen[way]] for way in ("complete", "streamed")],
    "anthropic_messages.py": lambda seen: [
        blocks(seen["object"]), blocks(seen["called"]), blocks(seen["answered"]),
        "".join(e["delta"].get("text", "") for e in seen["events"] if e["type"] == "content_block_delta")],
    "node_ask.mjs": lambda seen: (seen["text"], seen["finish_reason"]),
}
PROGRAMS = [("openai_chat.py",), ("openai_tools.py",), ("anthropic_messages.py",),
            ("node_ask.mjs", "hello"), ("node_ask.mjs", "--stream", "hello")]


@contextlib.contextmanager
def aimock(where, fixtures, *flags):
    """aimock with these fixtures, as a child process."""
    env = {**os.environ, "AIMOCK_ALLOW_PRIVATE_URLS": "1"}
    child = subprocess.Popen(
        ["node", str(AIMOCK), "--port", "0", "--fixtures", str(fixtures), *flags],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", cwd=where, env=env)
    said = []
    for line in child.stdout:
        said.append(line)
        if (found := re.search(r"listening on (http://\S+)", line)) is not None:
            break
    else:
        pytest.fail(f"aimock did not start: exit {child.wait()}:\n{''.join(said)}")
    try:
        yield found[1]
    finally:
        stop(child)


def recorded(loomrec, upstream, tmp_path, program):
    """What a program saw through aimock while that recorded; its requests, as loomrec
    recorded them in front of it; and aimock's files."""
    folder = tmp_path / "fixtures"
    folder.mkdir()
    with aimock(tmp_path, folder, "--record", "--provider-openai", upstream.url,
                "--provider-anthropic", upstream.url, "--record-full-model-version") as address:
        seen = loomrec.record(tmp_path / "requests.json", address, ways.command(*program))
    assert seen.code == 0, seen.stderr
    upstream.go_dark()
    files = sorted((folder / "recorded").glob("*.json"))
    assert files, "aimock recorded nothing"
    return seen, files


@pytest.mark.parametrize("program", PROGRAMS, ids=" ".join)
def test_what_aimock_recorded_is_replayed_to_the_same_sdk(upstream, loomrec, tmp_path, program):
    seen, files = recorded(loomrec, upstream, tmp_path, program)
    recording = tmp_path / "imported.json"
    receipt = run(loomrec, "import", *map(str, files), "--requests", str(tmp_path / "requests.json"),
                  "-o", str(recording), "--json")
    assert receipt["left_out"] == [], receipt
    (tmp_path / "requests.json").unlink()
    replayed = loomrec.replay(recording, ways.command(*program), "--fail-unused")
    assert replayed.code == 0, replayed.stderr
    assert WORDS[program[0]](replayed.document) == WORDS[program[0]](seen.document)
    assert_green(replayed, upstream)


def test_one_message_is_enough_for_a_strict_replay(upstream, loomrec, tmp_path):
    program = ("node_ask.mjs", "hello")
    seen, files = recorded(loomrec, upstream, tmp_path, program)
    recording = tmp_path / "imported.json"
    receipt = run(loomrec, "import", *map(str, files), "-o", str(recording), "--json")
    assert receipt["left_out"] == [] and receipt["calls"] == len(files), receipt
    replayed = loomrec.replay(recording, ways.command(*program), "--fail-unused")
    assert replayed.code == 0, replayed.stderr
    assert WORDS[program[0]](replayed.document) == WORDS[program[0]](seen.document)
    # "hello" is no part of what answers anything else.
    other = loomrec.replay(recording, ways.command("node_ask.mjs", "hello there"))
    assert other.receipt["missed"] > 0


@pytest.mark.parametrize("program", PROGRAMS, ids=" ".join)
def test_what_loomrec_recorded_is_served_by_aimock(upstream, loomrec, tmp_path, program):
    line = ways.command(*program)
    seen = loomrec.record(tmp_path / "recording.json", upstream.url, line)
    assert seen.code == 0, seen.stderr
    upstream.go_dark()
    fixtures = tmp_path / "fixtures.json"
    receipt = run(loomrec, "export", "--to", "aimock", str(tmp_path / "recording.json"),
                  "-o", str(fixtures), "--json")
    assert receipt["left_out"] == [], receipt
    with aimock(tmp_path, fixtures, "--strict", "--validate-on-load") as address:
        served = ways.direct(address, line, tmp_path)
    assert served.code == 0, served.stderr
    assert WORDS[program[0]](served.document) == WORDS[program[0]](seen.document)


def run(loomrec, *arguments: str) -> dict:
    done = ways.execute([loomrec.binary, *arguments], ways.environment(), loomrec.where)
    assert done.code == 0, done.stderr
    return json.loads(done.stdout)
