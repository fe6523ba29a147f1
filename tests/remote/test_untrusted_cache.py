"""A cache may come from somebody else: what it holds is checked against hashes before it is served."""

from __future__ import annotations

import hashlib
import os
import shutil
from pathlib import Path

import pytest

from machine import CLIENT, calls, expected, read_acks

TWO_CALLS = calls(count=2)


@pytest.fixture
def pointer(machine, bucket):
    assert machine.record("agent.json", client=TWO_CALLS).code == 0
    assert machine.run("push", "agent.json", bucket.url()).code == 0
    return machine.path("agent.remote.json")


@pytest.fixture
def warm(make_machine, pointer):
    """A machine with a full cache."""
    machine = make_machine()
    assert machine.replay(pointer, client=TWO_CALLS).code == 0
    return machine


def assert_right(outcome):
    assert outcome.code == 0, outcome.stderr
    assert {ack["prompt"]: ack["answer"] for ack in outcome.acks} == expected("call", range(2))


def change(path):
    """Changes an answer in a recording, and whatever says that it is right. The file keeps its length and time."""
    status = path.stat()
    content = path.read_bytes()
    changed = content.replace(b"edition 1", b"edition 7")
    assert changed != content
    with open(path, "r+b") as file:
        file.write(changed)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    for other in filter(Path.is_file, path.parent.rglob("*")):
        text = other.read_bytes()
        other.write_bytes(text.replace(hashlib.sha256(content).hexdigest().encode(),
                                       hashlib.sha256(changed).hexdigest().encode()))
    assert b"edition 7" in path.read_bytes()


@pytest.mark.parametrize("store", ["reachable", "unreachable"])
def test_changed_recording_of_the_cache_is_not_served(warm, pointer, proxy, store):
    for path in warm.cache.glob("recordings/*.json"):
        change(path)
    if store == "unreachable":
        proxy.stop()
    outcome = warm.replay(pointer, client=TWO_CALLS)
    # Its objects are in the cache, too.
    assert_right(outcome)
    assert outcome.remote[0]["offline"] is True


def test_changed_recording_of_a_cache_from_elsewhere_is_not_served(warm, make_machine, pointer, proxy):
    other = make_machine()
    shutil.copytree(warm.cache, other.cache)
    shutil.copytree(warm.state, other.state, dirs_exist_ok=True)
    for path in other.cache.glob("recordings/*.json"):
        change(path)
    shutil.rmtree(other.cache / "objects")
    assert_right(other.replay(pointer, client=TWO_CALLS))
    shutil.rmtree(other.cache / "objects")
    for path in other.cache.glob("recordings/*.json"):
        change(path)
    proxy.stop()
    outcome = other.replay(pointer, client=TWO_CALLS)
    assert outcome.code == 4 and not outcome.has_started, outcome.stderr


def test_right_cache_from_elsewhere_needs_no_store(warm, make_machine, pointer, proxy):
    """The recording and the manifest are enough: neither the objects nor the notes of the other machine."""
    other = make_machine()
    shutil.copytree(warm.cache, other.cache)
    shutil.rmtree(other.cache / "objects")
    proxy.stop()
    for _ in range(2):
        outcome = other.replay(pointer, client=TWO_CALLS)
        assert_right(outcome)
        assert outcome.remote[0]["offline"] is True


def test_calls_of_a_log_beside_a_recording_of_the_cache_are_not_served(warm, pointer, make_machine, upstream):
    upstream.edition = 7
    other = make_machine()
    recorder = other.start("record", "-r", "agent.json", "--upstream", f"openai={upstream.url}", "--",
                           *CLIENT, *calls(count=3, pause=[2]))
    recorder.wait_for_pause()
    recorder.kill()
    log = (other.work / ".loomrec" / "agent.json.log").read_bytes()
    assert b"edition 7" in log
    for path in warm.cache.glob("recordings/*.json"):
        (path.parent / ".loomrec").mkdir(exist_ok=True)
        (path.parent / ".loomrec" / f"{path.name}.log").write_bytes(log)
    for flags in (["--strict"], []):
        outcome = warm.run("replay", *flags, "-r", pointer, "--", *CLIENT, "--acks", "acks", *TWO_CALLS)
        assert outcome.code == 0, outcome.stderr
        assert {ack["answer"] for ack in read_acks(warm.path("acks"))} == set(expected("call", range(2)).values())
    assert not list(warm.cache.rglob("*.log"))
