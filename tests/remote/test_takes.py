"""Which takes a recording has when several machines record: runs, failures, steps, sessions and rules."""

from __future__ import annotations

import json

import pytest

from machine import calls, contents, entries, expected, prompt_of
from upstream import answer_text


@pytest.fixture
def url(bucket):
    return bucket.url()


def record(make_machine, url, *flags, **options):
    outcome = make_machine().record(url, *flags, **options)
    assert outcome.code == 0, outcome.stderr


def answers(recording, prompt="call 0"):
    return [entry["content"] for entry in entries(recording) if prompt_of(entry) == prompt]


def assert_merged_or_not(make_machine, url, check=None):
    """Checks that readers see the same before and after a compaction, and what it is."""
    files = []
    for _ in range(2):
        reader = make_machine()
        assert reader.run("pull", url, "-o", "pulled.json").code == 0
        files.append(reader.path("pulled.json").read_bytes())
        if check is not None:
            check(json.loads(files[-1]))
        assert make_machine().run("merge", url).code == 0
    assert files[0] == files[1]


def test_recorders_whose_times_overlap_are_one_run(make_machine, url, upstream):
    """They have no `--run`: both takes stay, in the order of their times. A recorder's time is that from its
    start to its last call.
    """
    first, second = make_machine(), make_machine()
    one = first.start_recorder(url, client=calls("call", 2, pause=[1]))
    one.wait_for_pause()
    upstream.edition = 2
    assert second.record(url, client=calls("call", 1)).code == 0
    one.go_on()
    assert one.wait().code == 0

    def check(recording):
        assert answers(recording) == [answer_text("call 0", 1), answer_text("call 0", 2)]
        assert answers(recording, "call 1") == [answer_text("call 1", 2)]

    assert_merged_or_not(make_machine, url, check)


def test_recorders_one_after_the_other_are_two_runs(make_machine, url, upstream):
    record(make_machine, url, client=calls("call", 1))
    upstream.edition = 2
    record(make_machine, url, client=calls("call", 1))
    assert_merged_or_not(make_machine, url)
    assert answers(make_machine().pull(url)) == [answer_text("call 0", 2)]


def test_failed_call_of_another_machine_does_not_replace_a_good_take(make_machine, url, upstream):
    record(make_machine, url)
    upstream.edition, upstream.is_failing = 2, True
    outcome = make_machine().record(url, "--run", "failing", client=calls("call", 3, "--bear-failures"))
    assert outcome.code == 1, outcome.stderr
    assert_merged_or_not(make_machine, url)
    assert contents(make_machine().pull(url)) == expected("call", range(3))


def test_failed_call_gives_way_to_the_good_take_of_a_later_run(make_machine, url, upstream):
    upstream.is_failing = True
    make_machine().record(url, "--run", "failing", client=calls("call", 1, "--bear-failures"))
    upstream.edition, upstream.is_failing = 2, False
    record(make_machine, url, "--run", "good", client=calls("call", 1))
    assert_merged_or_not(make_machine, url)
    found = entries(make_machine().pull(url))
    assert [entry["response"]["status"] for entry in found] == [200]


def test_steps_of_several_recorders(make_machine, url):
    """Takes under step ids are lists, in the order of their times."""
    running = [make_machine().start_recorder(url, "--run", "r", client=calls(f"r{number}", 6, "--steps"))
               for number in range(3)]
    for recorder in running:
        outcome = recorder.wait()
        assert outcome.code == 0, outcome.stderr

    def check(recording):
        steps = {key: value for key, value in recording.items() if not key.startswith("_")}
        assert sorted(steps) == ["step-0", "step-1", "step-2"]
        for takes in steps.values():
            assert len(takes) == 6
            assert [take["recorded_at"] for take in takes] == sorted(take["recorded_at"] for take in takes)

    assert_merged_or_not(make_machine, url, check)
    replayed = make_machine().replay(url, client=calls("r1", 6, "--steps"))
    assert replayed.code == 0, replayed.stderr


def test_takes_of_other_sessions_stay(make_machine, url, upstream):
    for edition, session in ((1, "a"), (2, "b"), (3, "a")):
        upstream.edition = edition
        record(make_machine, url, client=calls("call", 1, "--session", session))

    def check(recording):
        found = {(entry["session"], entry["content"]) for entry in entries(recording)}
        assert found == {("a", answer_text("call 0", 3)), ("b", answer_text("call 0", 2))}

    assert_merged_or_not(make_machine, url, check)


def test_rules_that_differ_are_refused_before_the_command_starts(make_machine, url, bucket):
    record(make_machine, url, "--ignore", "/user")
    before = bucket.keys()
    for flags in ((), ("--ignore", "/other")):
        machine = make_machine()
        marker = machine.path("marker")
        outcome = machine.record(url, *flags, client=calls("call", 1, "--marker", str(marker)))
        assert outcome.code == (0 if not flags else 2), outcome.stderr
        assert marker.exists() == (not flags)
    assert set(before) <= set(bucket.keys())


def test_rules_that_differ_at_the_same_time_lose_no_call(make_machine, url, bucket):
    """Two recorders begin an empty recording with other rules: what cannot be merged is named and kept."""
    running = [make_machine().start_recorder(url, "--run", "r", *flags, client=calls(label, 2, pause=[1]))
               for label, flags in (("plain", ()), ("ruled", ("--ignore", "/user")))]
    for recorder in running:
        recorder.wait_for_pause()
    for recorder in running:
        recorder.go_on()
    outcomes = [recorder.wait() for recorder in running]
    compaction = make_machine().run("merge", url)
    if compaction.code == 0:
        both = {**expected("plain", range(2)), **expected("ruled", range(2))}
        assert contents(make_machine().pull(url)) == both
    else:
        assert len(compaction.error_lines) == 1, compaction.stderr
        assert "ignore" in compaction.stderr or "rules" in compaction.stderr, compaction.stderr
        assert bucket.segments() != []
    assert {outcome.code for outcome in outcomes} <= {0, 2, 5}


def test_calls_larger_than_a_segment(make_machine, url, bucket, upstream):
    """A segment is cut at 8 MiB: four answers of 3 MB need several."""
    upstream.padding = 3_000_000
    record(make_machine, url, "--run", "r", client=calls("call", 4))
    assert len(bucket.segments()) >= 1
    compaction = make_machine().run("merge", url)
    assert compaction.code == 0, compaction.stderr
    found = contents(make_machine().pull(url))
    assert {prompt: text.rstrip(".") for prompt, text in found.items()} == expected("call", range(4))
    assert all(len(text) > 3_000_000 for text in found.values())
