"""Many recorders record into one recording at the same time."""

from __future__ import annotations

import json
from itertools import chain

import pytest

from machine import calls, contents, entries, expected, prompt_of
from process import wait_until
from proxy import shift_clock
from upstream import answer_text


def labels(count):
    return [f"shard-{number}" for number in range(count)]


def record_at_once(make_machine, url, *flags, count=4, each=5):
    """Starts a recorder on each of several machines, and lets all of them make calls at the same time."""
    machines = [make_machine() for _ in range(count)]
    running = [machine.start_recorder(url, *flags, client=calls(label, each, pause=[each // 2]))
               for machine, label in zip(machines, labels(count), strict=True)]
    for recorder in running:
        recorder.wait_for_pause()
    for recorder in running:
        recorder.go_on()
    for recorder in running:
        outcome = recorder.wait()
        assert outcome.code == 0, outcome.stderr
    return machines


def everything(count=4, each=5):
    return dict(chain.from_iterable(expected(label, range(each)).items() for label in labels(count)))


def assert_in_order_of_times(recording):
    times = [entry["recorded_at"] for entry in entries(recording)]
    assert times == sorted(times)


def answers_to(prompt, recording):
    """Returns the answers of the takes of one call, in order."""
    return [entry["content"] for entry in entries(recording) if prompt_of(entry) == prompt]


def test_recorders_without_a_run_leave_one_merged_state(make_machine, bucket):
    url = bucket.url()
    record_at_once(make_machine, url)
    assert bucket.segments() == []
    reader = make_machine()
    recording = reader.pull(url)
    assert contents(recording) == everything()
    assert_in_order_of_times(recording)
    manifest = bucket.manifest(bucket.manifest_hash())
    assert len(manifest["recorders"]) == 4
    assert all(recorder.get("run") is None and recorder["segments"] >= 1 for recorder in manifest["recorders"])


def test_recorders_of_one_machine(machine, make_machine, bucket):
    """They share its folders, and each uploads only its own."""
    running = [machine.start_recorder(bucket.url(), client=calls(label, 5, pause=[2])) for label in labels(4)]
    for recorder in running:
        recorder.wait_for_pause()
    for recorder in running:
        recorder.go_on()
    for recorder in running:
        outcome = recorder.wait()
        assert outcome.code == 0, outcome.stderr
    assert contents(make_machine().pull(bucket.url())) == everything()
    assert bucket.segments() == []


def test_recorders_of_a_run_leave_segments_until_compact(make_machine, bucket):
    url = bucket.url()
    record_at_once(make_machine, url, "--run", "pipeline-7")
    assert bucket.segments() != []
    assert "agent/ref" not in bucket.keys()
    for key in bucket.keys("agent/runs/"):
        if key.endswith("recorder.json"):
            recorder = json.loads(bucket.get(key))
            assert (recorder["format"], recorder["run"]) == ("loomrec-recorder/1", "pipeline-7")
            assert recorder["started_at"]
    # Readers do not wait for the compaction.
    before = make_machine()
    listed = json.loads(before.run("ls", url, "--json").stdout)
    assert contents(before.pull(url)) == everything()
    assert before.run("pull", url, "-o", "before.json").code == 0

    outcome = make_machine().run("merge", url)
    assert outcome.code == 0, outcome.stderr
    assert bucket.segments() == []
    assert bucket.ref()["generation"] >= 1
    after = make_machine()
    assert json.loads(after.run("ls", url, "--json").stdout) == listed
    assert len(listed) == 20
    assert contents(after.pull(url)) == everything()
    assert after.run("pull", url, "-o", "after.json").code == 0
    assert after.path("after.json").read_bytes() == before.path("before.json").read_bytes()


def test_compact_again_changes_nothing(make_machine, bucket):
    url = bucket.url()
    machine = make_machine()
    assert machine.record(url, "--run", "r").code == 0
    assert machine.run("merge", url).code == 0
    before = bucket.contents()
    outcome = make_machine().run("merge", url)
    assert outcome.code == 0, outcome.stderr
    assert bucket.contents() == before


def test_receipt_counts_the_uploaded_segments(machine, bucket):
    receipt = machine.path("receipt.json")
    assert machine.record(bucket.url(), "--receipt", str(receipt)).code == 0
    member = json.loads(receipt.read_bytes())["remote"][0]
    assert member["name"] == member["url"] == bucket.url()
    assert member["segments"] >= 1
    assert member["left"] == 0
    assert member["manifest"] == bucket.ref()["manifest"]


def test_replay_of_segments_that_are_not_merged(machine, make_machine, bucket):
    recorder = machine.start_recorder(bucket.url(), "--run", "r")
    assert recorder.wait().code == 0
    replayed = make_machine().replay(bucket.url())
    assert replayed.code == 0, replayed.stderr
    assert replayed.acks == recorder.acks


def test_a_live_recorder_can_be_read(machine, make_machine, bucket):
    """Segments are uploaded while the recorder runs."""
    recorder = machine.start_recorder(bucket.url(), client=calls(count=2, pause=[1]))
    recorder.wait_for_pause()
    reader = make_machine()
    wait_until(lambda: bucket.segments() != [], "the first segment")
    assert contents(reader.pull(bucket.url())) == expected("call", range(1))
    recorder.go_on()
    assert recorder.wait().code == 0
    assert contents(reader.pull(bucket.url())) == expected("call", range(2))


def test_mode_all_replaces_the_takes_of_earlier_runs(make_machine, bucket, upstream):
    url = bucket.url()
    assert make_machine().record(url, client=calls(count=4)).code == 0
    upstream.edition = 2
    assert make_machine().record(url, client=calls(count=2)).code == 0
    recording = make_machine().pull(url)
    assert contents(recording) == {**expected("call", range(4)), **expected("call", range(2), 2)}


def test_recorders_of_one_run_do_not_replace_each_other(make_machine, bucket, upstream):
    """The first run has two takes of each call; the next one, with one take, replaces the first of them."""
    url = bucket.url()
    for edition in (1, 2):
        upstream.edition = edition
        outcome = make_machine().record(url, "--run", "first", client=calls(count=2))
        assert outcome.code == 0, outcome.stderr
    assert make_machine().run("merge", url).code == 0
    assert answers_to("call 1", make_machine().pull(url)) == [
        answer_text("call 1", 1), answer_text("call 1", 2)]
    upstream.edition = 3
    assert make_machine().record(url, "--run", "second", client=calls(count=2)).code == 0
    for compact in (False, True):
        if compact:
            assert make_machine().run("merge", url).code == 0
        assert answers_to("call 1", make_machine().pull(url)) == [
            answer_text("call 1", 3), answer_text("call 1", 2)]


def test_segment_that_arrives_late_is_merged_as_if_it_had_been_early(make_machine, bucket, proxy, upstream):
    """A machine records first and uploads last: the later run still replaces its takes."""
    url = bucket.url()
    early, late = make_machine(), make_machine()
    recorder = early.start_recorder(url, "--run", "early", "--drain", "0", client=calls(pause=[0]))
    recorder.wait_for_pause()
    proxy.stop()
    recorder.go_on()
    assert recorder.wait().code == 5
    proxy.start()
    upstream.edition = 2
    assert late.record(url, "--run", "late", client=calls(count=2)).code == 0
    assert late.run("merge", url).code == 0
    assert contents(late.pull(url)) == expected("call", range(2), 2)
    assert early.run("merge", url).code == 0
    assert contents(late.pull(url)) == {**expected("call", range(3)), **expected("call", range(2), 2)}


def test_new_episodes_forwards_only_what_is_not_recorded(make_machine, bucket, upstream):
    url = bucket.url()
    assert make_machine().record(url).code == 0
    upstream.edition, upstream.prompts = 2, []
    recorder = make_machine().start_recorder(url, "--mode", "new_episodes", client=calls(count=5))
    outcome = recorder.wait()
    assert outcome.code == 0, outcome.stderr
    assert upstream.prompts == ["call 3", "call 4"]
    together = {**expected("call", range(3)), **expected("call", range(3, 5), 2)}
    assert {ack["prompt"]: ack["answer"] for ack in recorder.acks} == together
    assert contents(make_machine().pull(url)) == together


def test_once_records_once(make_machine, bucket, upstream):
    url = bucket.url()
    first = make_machine().start_recorder(url, "--mode", "once")
    outcome = first.wait()
    assert outcome.code == 0, outcome.stderr
    assert len(upstream.prompts) == 3
    upstream.edition, upstream.prompts = 2, []
    second = make_machine().start_recorder(url, "--mode", "once")
    outcome = second.wait()
    assert outcome.code == 0, outcome.stderr
    assert upstream.prompts == []
    assert second.acks == first.acks
    assert contents(make_machine().pull(url)) == expected("call", range(3))


def test_mode_none_records_nothing(make_machine, bucket, upstream):
    url = bucket.url()
    assert make_machine().record(url).code == 0
    before = bucket.ref()
    upstream.prompts = []
    outcome = make_machine().record(url, "--mode", "none")
    assert outcome.code == 0, outcome.stderr
    assert upstream.prompts == []
    assert bucket.ref()["manifest"] == before["manifest"]


def test_record_into_a_pushed_recording_keeps_what_it_has(make_machine, bucket):
    url = bucket.url()
    pusher = make_machine()
    assert pusher.record("agent.json", client=calls("pushed")).code == 0
    assert pusher.run("push", "agent.json", url).code == 0
    assert make_machine().record(url, client=calls("recorded")).code == 0
    assert contents(make_machine().pull(url)) == {**expected("pushed", range(3)), **expected("recorded", range(3))}


@pytest.mark.parametrize("seconds", [60, -60])
def test_record_warns_of_a_clock_that_is_wrong(machine, bucket, proxy, seconds):
    proxy.rules.change.append(shift_clock(seconds))
    outcome = machine.record(bucket.url())
    assert outcome.code == 0, outcome.stderr
    assert "clock" in outcome.stderr


def test_record_says_nothing_of_a_clock_that_is_right(machine, bucket):
    assert "clock" not in machine.record(bucket.url()).stderr


def test_manifest_names_the_recorder_of_each_take(make_machine, bucket):
    assert make_machine().record(bucket.url(), "--run", "r").code == 0
    assert make_machine().record(bucket.url(), client=calls("other")).code == 0
    manifest = bucket.manifest(bucket.manifest_hash())
    recorders = {recorder["id"]: recorder for recorder in manifest["recorders"]}
    assert sorted(recorder.get("run") or "" for recorder in recorders.values()) == ["", "r"]
    assert all(take["recorder"] in recorders for take in manifest["takes"])
    for recorder in recorders.values():
        times = [take["recorded_at"] for take in manifest["takes"] if take["recorder"] == recorder["id"]]
        assert len(times) == 3
        assert recorder["started_at"] <= min(times)
        assert recorder["last_at"] == max(times)
