"""The folders of this machine: the cache and what is not uploaded yet."""

from __future__ import annotations

import json
import resource
import stat
import subprocess

import pytest

from machine import CLIENT, LOOMREC, calls, contents, expected
from process import wait_until


@pytest.fixture
def pushed(machine, bucket):
    assert machine.record("agent.json").code == 0
    assert machine.run("push", "agent.json", bucket.url()).code == 0
    return machine


def test_folders_are_where_the_system_has_them(make_machine, pushed, bucket):
    """Without loomrec's own variables, below XDG's, and without these below the home."""
    for variables, cache, state in (({}, ".cache/loomrec", ".local/state/loomrec"),
                                    ({"XDG_CACHE_HOME": "c", "XDG_STATE_HOME": "s"}, "c/loomrec", "s/loomrec")):
        other = make_machine()
        for name in ("LOOMREC_CACHE", "LOOMREC_STATE"):
            del other.environment[name]
        other.environment |= {name: str(other.folder / value) for name, value in variables.items()}
        assert other.replay(bucket.url()).code == 0
        assert any((other.folder / cache).rglob("*"))
        recorder = other.start_recorder(bucket.url(), client=calls("x", 2, pause=[1]))
        recorder.wait_for_pause()
        assert any((other.folder / state).rglob("*"))
        recorder.kill()
        assert sorted(path.name for path in other.work.iterdir()) == []


def test_only_the_owner_can_read_the_folders(pushed, make_machine, bucket):
    """They hold prompts and answers."""
    other = make_machine()
    assert other.replay(bucket.url()).code == 0
    recorder = other.start_recorder(bucket.url(), client=calls("x", 2, pause=[1]))
    recorder.wait_for_pause()
    for folder in (other.cache, other.state):
        for path in folder.rglob("*"):
            if path.is_file() and path.stat().st_size:
                way = [path, *list(path.parents)[:len(path.relative_to(folder).parents)]]
                assert any(not stat.S_IMODE(each.stat().st_mode) & 0o077 for each in way), path
    recorder.kill()


@pytest.mark.parametrize("name", ["LOOMREC_CACHE", "LOOMREC_STATE"])
def test_folder_that_is_a_file_is_named(pushed, make_machine, bucket, name):
    other = make_machine()
    file = other.folder / "file"
    file.write_text("not a folder", encoding="utf-8")
    other.environment[name] = str(file)
    marker = other.path("marker")
    if name == "LOOMREC_CACHE":
        outcome = other.replay(bucket.url())
    else:
        outcome = other.record(bucket.url(), client=calls("call", 1, "--marker", str(marker)))
    assert outcome.code in (2, 3, 4, 5), outcome.stderr
    assert str(file) in outcome.stderr
    assert len(outcome.error_lines) == 1, outcome.stderr
    assert not marker.exists() and not getattr(outcome, "has_started", False)
    assert file.read_text(encoding="utf-8") == "not a folder"


def test_nothing_of_a_clean_run_is_left(machine, bucket):
    """What is uploaded is not kept: the folder does not grow with each run."""
    sizes = []
    for number in range(4):
        assert machine.record(bucket.url(), client=calls(f"run{number}")).code == 0
        sizes.append(sum(path.stat().st_size for path in machine.state.rglob("*") if path.is_file()))
    assert sizes[-1] <= max(sizes[0], 1024), sizes
    assert len(list(machine.state.rglob("*"))) < 12


def test_receipt_names_the_recording_and_not_the_cache(pushed, make_machine, bucket):
    other = make_machine()
    receipt = other.path("receipt.json")
    for line in (["replay", "-r", bucket.url(), "--receipt", str(receipt), "--allow-empty", "--", "true"],
                 ["record", "-r", bucket.url(), "--receipt", str(receipt), "--allow-empty", "--", "true"]):
        outcome = other.run(*line)
        assert outcome.code == 0, outcome.stderr
        assert [each["path"] for each in json.loads(receipt.read_bytes())["recordings"]] == [bucket.url()]
        for text in (receipt.read_text(encoding="utf-8"), outcome.stderr):
            assert str(other.cache) not in text and str(other.state) not in text


def test_messages_of_commands_name_the_recording_and_not_the_cache(pushed, make_machine, bucket):
    other = make_machine()
    for line in (["ls", bucket.url()], ["verify", bucket.url()], ["stats", bucket.url()],
                 ["diff", bucket.url(), bucket.url()], ["show", bucket.url(), "nothing"],
                 ["export", "--to", "har", bucket.url()]):
        outcome = other.run(*line)
        assert str(other.cache) not in outcome.stdout + outcome.stderr, line


def test_disk_that_is_full_while_recording(machine, make_machine, bucket, upstream):
    """Calls go on, the code is 5, and what was written before is uploaded."""
    upstream.padding = 20_000
    limit = 60_000  # bytes in one file: the log takes two or three calls
    line = [LOOMREC, "record", "-r", bucket.url(), "--run", "r", "--upstream", f"openai={upstream.url}", "--",
            *CLIENT, "--calls", "8"]
    done = subprocess.run(line, env=machine.environment, cwd=machine.work, capture_output=True, encoding="utf-8",
                          timeout=60, check=False,
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
    assert done.returncode == 5, done.stderr
    assert "panicked" not in done.stderr
    assert len(upstream.prompts) == 8
    assert make_machine().run("merge", bucket.url()).code == 0
    found = contents(make_machine().pull(bucket.url()))
    assert 1 <= len(found) < 8
    assert {prompt: text.rstrip(".") for prompt, text in found.items()}.items() <= expected("call", range(8)).items()


def test_verify_finds_every_damaged_object(pushed, make_machine, bucket):
    keys = bucket.keys("agent/objects/")
    for key in keys[:2]:
        bucket.delete(key)
    outcome = make_machine().run("verify", bucket.url())
    assert outcome.code in (1, 4), outcome.stderr
    said = outcome.stdout + outcome.stderr
    assert any(key.rpartition("/")[2] in said for key in keys[:2]), said


def test_recording_for_each_session_in_a_store_is_refused(machine, bucket):
    """Sessions have files of their own: no store is promised for them."""
    marker = machine.path("marker")
    url = f"{bucket.url()}/{{session}}"
    outcome = machine.record(url, client=calls("call", 1, "--session", "a", "--marker", str(marker)))
    assert sorted(path.name for path in machine.work.iterdir() if path != marker) == []
    assert outcome.code == 2, outcome.stderr
    assert not marker.exists()


def test_segments_are_uploaded_every_two_seconds(machine, bucket):
    """A recorder that goes on for long does not keep all of it back."""
    recorder = machine.start_recorder(bucket.url(), "--run", "r", client=calls("call", 2, pause=[1, 2]))
    for number in range(1, 3):
        recorder.wait_for_pause()
        wait_until(lambda number=number: len(bucket.segments()) >= number, f"segment {number}", patience=10)
        recorder.go_on()
    assert recorder.wait().code == 0
    assert len(bucket.segments()) == 2
