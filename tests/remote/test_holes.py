"""Segments or the reference are lost: no command ends well over such a hole, and each has a way back."""

from __future__ import annotations

import json
import re

import pytest

from machine import KillAt, calls, contents, expected
from process import wait_until
from proxy import OldObjects, puts


def record_segments(machine, bucket, label="call", count=3):
    """Records calls, each in a segment of its own. Returns the keys of the segments."""
    before = set(bucket.segments())
    recorder = machine.start_recorder(bucket.url(), "--run", "r",
                                      client=calls(label, count, pause=range(1, count)))
    for number in range(1, count):
        recorder.wait_for_pause()
        wait_until(lambda number=number: len(set(bucket.segments()) - before) == number, "the upload of a segment")
        recorder.go_on()
    outcome = recorder.wait()
    assert outcome.code == 0, outcome.stderr
    segments = sorted(set(bucket.segments()) - before)
    assert len(segments) == count
    return segments


@pytest.fixture
def gap(machine, make_machine, bucket, proxy):
    """The second of three segments of a recorder is missing. Another recorder has no gap."""
    segments = record_segments(machine, bucket)
    assert make_machine().record(bucket.url(), "--run", "r", client=calls("other")).code == 0
    content = bucket.get(segments[1])
    bucket.delete(segments[1])
    proxy.rules.change.append(OldObjects(bucket.keys()))
    return segments[1], content


def test_gap_is_an_error_of_every_command(gap, machine, make_machine, bucket, proxy):
    missing, _ = gap
    # Nobody knows its hash any more.
    name = missing.removeprefix("agent/").partition(".")[0]
    before = bucket.contents()
    for arguments in (["ls"], ["verify"], ["pull"], ["stats"]):
        outcome = make_machine().run(*arguments, bucket.url())
        assert outcome.code == 4, (arguments, outcome.stderr)
        assert name in outcome.stderr + outcome.stdout
    outcome = make_machine().replay(bucket.url())
    assert outcome.code == 4 and not outcome.has_started, outcome.stderr
    for flags in ([], ["--apply", "--keep", "0d"]):
        outcome = make_machine().run("gc", bucket.url(), *flags)
        assert outcome.code == 5, outcome.stderr
        assert name in outcome.stderr
    assert bucket.contents() == before
    outcome = make_machine().run("merge", bucket.url())
    assert outcome.code == 5, outcome.stderr
    assert name in outcome.stderr
    assert len(outcome.error_lines) == 1, outcome.stderr
    # What has no gap is merged, and nothing else is removed.
    assert len(bucket.segments()) == 1


def test_what_is_there_is_merged_on_request(gap, make_machine, bucket):
    missing, content = gap
    assert make_machine().run("merge", bucket.url()).code == 5
    outcome = make_machine().run("merge", "--force", bucket.url())
    assert outcome.code == 0, outcome.stderr
    assert bucket.segments() == []
    rest = {**expected("call", [0, 2]), **expected("other", range(3))}
    assert contents(make_machine().pull(bucket.url())) == rest
    recorders = bucket.manifest(bucket.manifest_hash())["recorders"]
    assert [recorder.get("missing") for recorder in recorders if recorder.get("missing")] == [[2]]
    # It is found after all.
    bucket.put(missing, content)
    assert contents(make_machine().pull(bucket.url())) == {**rest, **expected("call", [1])}
    outcome = make_machine().run("merge", bucket.url())
    assert outcome.code == 0, outcome.stderr
    assert bucket.segments() == []
    assert contents(make_machine().pull(bucket.url())) == {**rest, **expected("call", [1])}
    assert all("missing" not in recorder for recorder in bucket.manifest(bucket.manifest_hash())["recorders"])


def test_young_gap_waits(machine, make_machine, bucket):
    """A listing that was made meanwhile may not have the segment yet."""
    segments = record_segments(machine, bucket)
    content = bucket.get(segments[1])
    bucket.delete(segments[1])
    for flags in ([], ["--force"]):
        outcome = make_machine().run("merge", bucket.url(), *flags)
        assert outcome.code == 0, outcome.stderr
        assert bucket.segments() == segments[2:]
    bucket.put(segments[1], content)
    assert make_machine().run("merge", bucket.url()).code == 0
    assert contents(make_machine().pull(bucket.url())) == expected("call", range(3))


LOSSES = {"missing": None, "damaged": b"\0\0\0", "empty": b""}


def lose_ref(bucket, how):
    if LOSSES[how] is None:
        bucket.delete("agent/ref")
    else:
        bucket.put("agent/ref", LOSSES[how])


def make_recording(machine, bucket, how):
    if how == "pushed":
        assert machine.record("agent.json").code == 0
        assert machine.run("push", "agent.json", bucket.url()).code == 0
    else:
        assert machine.record(bucket.url()).code == 0


@pytest.mark.parametrize("how", LOSSES)
@pytest.mark.parametrize("origin", ["pushed", "recorded"])
def test_lost_reference_is_no_new_recording(machine, make_machine, bucket, proxy, upstream, origin, how):
    make_recording(machine, bucket, origin)
    state = bucket.manifest_hash()
    lose_ref(bucket, how)
    proxy.rules.change.append(OldObjects(bucket.keys()))
    before, answered = bucket.contents(), len(upstream.prompts)
    other = make_machine()
    assert other.record("other.json", client=calls("other")).code == 0
    answered = len(upstream.prompts)
    for code, arguments in ((4, ["pull", bucket.url()]), (4, ["ls", bucket.url()]), (4, ["verify", bucket.url()]),
                            (5, ["merge", bucket.url()]), (5, ["gc", "--apply", "--keep", "0d", bucket.url()]),
                            (5, ["push", "--force", "other.json", bucket.url()])):
        outcome = other.run(*arguments)
        assert outcome.code == code, (arguments, outcome.stderr)
        assert "agent/ref" in outcome.stderr + outcome.stdout
    outcome = other.record(bucket.url(), client=calls("new"))
    assert outcome.code == 4, outcome.stderr
    assert len(upstream.prompts) == answered
    after = {key: content for key, content in bucket.contents().items() if key in before}
    assert after == before
    command = re.search(r"`loomrec (merge .*?)`", outcome.stderr)[1].split()
    assert command[-1] == f"{bucket.url()}@sha256:{state}"
    outcome = other.run(*command)
    assert outcome.code == 0, outcome.stderr
    proxy.forget()
    assert contents(make_machine().pull(bucket.url())) == expected("call", range(3))
    assert other.record(bucket.url(), client=calls("new")).code == 0
    assert contents(make_machine().pull(bucket.url())) == {**expected("call", range(3)), **expected("new", range(3))}


def test_restore_of_a_reference_that_is_there_is_refused(machine, bucket):
    make_recording(machine, bucket, "pushed")
    before = bucket.contents()
    outcome = machine.run("merge", f"{bucket.url()}@sha256:{bucket.manifest_hash()}")
    assert outcome.code == 5, outcome.stderr
    assert bucket.contents() == before
    assert machine.run("merge", f"{bucket.url()}@sha256:12").code == 2
    bucket.delete("agent/ref")
    outcome = machine.run("merge", f"{bucket.url()}@sha256:" + "0" * 64)
    assert outcome.code == 5, outcome.stderr
    assert "agent/ref" not in bucket.keys()


def test_reference_of_a_newer_loomrec_is_not_a_lost_one(machine, bucket):
    make_recording(machine, bucket, "pushed")
    bucket.put("agent/ref", json.dumps({**bucket.ref(), "format": "loomrec-ref/9"}).encode())
    before = bucket.contents()
    state = f"{bucket.url()}@sha256:{bucket.manifest_hash()}"
    for code, arguments in ((4, ["pull", bucket.url()]), (5, ["merge", bucket.url()]), (5, ["merge", state]),
                            (5, ["gc", "--apply", bucket.url()])):
        outcome = machine.run(*arguments)
        assert outcome.code == code, outcome.stderr
        assert "loomrec-ref/9" in outcome.stderr and "goes on from" not in outcome.stderr
    assert bucket.contents() == before


def test_state_of_a_first_push_that_was_killed_is_not_a_lost_one(machine, bucket, proxy):
    assert machine.record("agent.json").code == 0
    kill = KillAt(puts("/ref$"))
    proxy.rules.before.append(kill)
    kill.wait_for_end_of(machine.start("push", "agent.json", bucket.url()))
    proxy.forget()
    assert machine.record("other.json", client=calls("other")).code == 0
    outcome = machine.run("push", "other.json", bucket.url())
    assert outcome.code == 5 and "goes on from" in outcome.stderr, outcome.stderr
    outcome = machine.run("push", "agent.json", bucket.url())
    assert outcome.code == 0, outcome.stderr
    assert contents(machine.pull(bucket.url())) == expected("call", range(3))
