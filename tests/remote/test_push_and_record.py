"""A recording is changed by hand and pushed while recorders record into it: the change stays."""

from __future__ import annotations

import pytest

from machine import KillAt, calls, contents, entries, expected, prompts
from proxy import puts


@pytest.fixture
def url(bucket):
    return bucket.url()


def take_over(machine, url, change, *flags):
    """Pulls, changes and pushes a recording. Returns how the push ended."""
    assert machine.run("pull", url, "-o", "agent.json").code == 0
    outcome = machine.run(*change)
    assert outcome.code == 0, outcome.stderr
    return machine.run("push", "agent.json", url, *flags)


REDACT = ("redact", "agent.json", "--redact", "answers", "--apply")


def assert_redacted(make_machine, url, count=3):
    """Checks that no take which was recorded before the push has come back."""
    for _ in range(2):
        recording = make_machine().pull(url)
        assert len(entries(recording)) == count
        assert "answers" not in str(recording)
        assert make_machine().run("merge", url).code == 0


def test_pushed_change_survives_segments_that_were_not_merged(make_machine, url):
    assert make_machine().record(url, "--run", "r").code == 0
    outcome = take_over(make_machine(), url, REDACT)
    if outcome.code == 5:  # what was pulled is no state yet
        assert "loomrec merge" in outcome.stderr
        assert make_machine().run("merge", url).code == 0
        outcome = take_over(make_machine(), url, REDACT, "--force")
    assert outcome.code == 0, outcome.stderr
    assert_redacted(make_machine, url)


def test_pushed_change_survives_segments_whose_removal_was_interrupted(make_machine, url, bucket, proxy):
    assert make_machine().record(url, "--run", "r").code == 0
    kill = KillAt(lambda request: request.method in ("DELETE", "POST"))
    proxy.rules.before.append(kill)
    kill.wait_for_end_of(make_machine().start("merge", url))
    proxy.forget()
    assert bucket.segments() != []
    outcome = take_over(make_machine(), url, REDACT, "--force")
    assert outcome.code == 0, outcome.stderr
    assert_redacted(make_machine, url)


def test_calls_recorded_during_a_change_are_added_to_it(make_machine, url):
    """A recorder goes on while someone else pulls, changes and pushes."""
    recorder = make_machine().start_recorder(url, "--run", "r", client=calls("live", 4, pause=[2]))
    recorder.wait_for_pause()
    assert make_machine().record(url, "--run", "r", client=calls("other")).code == 0
    editor = make_machine()
    assert editor.run("pull", url, "-o", "agent.json").code == 0
    assert editor.run("push", "--force", "agent.json", url).code == 0
    recorder.go_on()
    assert recorder.wait().code == 0
    assert make_machine().run("merge", url).code == 0
    assert contents(make_machine().pull(url)) == {**expected("live", range(4)), **expected("other", range(3))}


def test_push_without_pointer_to_a_recording_that_exists_is_refused(machine, make_machine, url, bucket):
    assert make_machine().record(url).code == 0
    ref = bucket.ref()
    assert machine.record("agent.json", client=calls("other")).code == 0
    outcome = machine.run("push", "agent.json", url)
    assert outcome.code == 5, outcome.stderr
    assert bucket.ref() == ref
    assert not machine.path("agent.remote.json").exists()


def test_commands_of_a_refused_push_merge_both_changes(machine, make_machine, url):
    assert machine.record("agent.json").code == 0
    assert machine.run("push", "agent.json", url).code == 0
    other = make_machine()
    assert other.run("pull", url, "-o", "agent.json").code == 0
    assert other.record("agent.json", client=calls("theirs")).code == 0
    assert other.run("push", "--force", "agent.json", url).code == 0
    assert machine.record("agent.json", client=calls("mine")).code == 0
    refused = machine.run("push", "agent.json")
    assert refused.code == 5, refused.stderr
    commands = [line.split()[1:] for line in refused.stderr.split("`") if line.startswith("loomrec ")]
    assert [command[0] for command in commands] == ["pull", "pull", "merge"], refused.stderr
    for command in commands:
        outcome = machine.run(*command)
        assert outcome.code == 0, outcome.stderr
    assert machine.run("push", "agent.json").code == 0
    together = {**expected("call", range(3)), **expected("theirs", range(3)), **expected("mine", range(3))}
    assert contents(make_machine().pull(url)) == together


def test_push_is_refused_if_recorders_have_added_calls(machine, make_machine, url):
    """Segments that are not merged are a change that the pointer file does not know, too."""
    assert machine.record("agent.json").code == 0
    assert machine.run("push", "agent.json", url).code == 0
    assert make_machine().record(url, "--run", "r", client=calls("added")).code == 0
    assert machine.record("agent.json", client=calls("mine")).code == 0
    outcome = machine.run("push", "agent.json")
    together = {**expected("call", range(3)), **expected("added", range(3))}
    if outcome.code == 0:
        together |= expected("mine", range(3))
    else:
        assert outcome.code == 5, outcome.stderr
    assert make_machine().run("merge", url).code == 0
    assert contents(make_machine().pull(url)) == together


def test_rerecording_after_a_push_replaces_what_was_pushed(machine, make_machine, url, upstream):
    assert machine.record("agent.json").code == 0
    assert machine.run("push", "agent.json", url).code == 0
    upstream.edition = 2
    assert make_machine().record(url, client=calls("call", 2)).code == 0
    assert contents(make_machine().pull(url)) == {**expected("call", range(3)), **expected("call", range(2), 2)}
    editor = make_machine()
    outcome = take_over(editor, url, ("verify", "agent.json"), "--force")
    assert outcome.code == 0, outcome.stderr
    assert contents(make_machine().pull(url)) == {**expected("call", range(3)), **expected("call", range(2), 2)}


def test_two_pushes_at_the_same_time_do_not_lose_one(machine, make_machine, url, proxy):
    """The second one comes between the first one's look at the newest state and its write."""
    assert machine.record("agent.json").code == 0
    assert machine.run("push", "agent.json", url).code == 0
    first, second = make_machine(), make_machine()
    for each in (first, second):
        assert each.record("agent.json", client=calls(each.folder.name)).code == 0
        each.path("agent.remote.json").write_bytes(machine.path("agent.remote.json").read_bytes())
    other = []

    def push_between(request):
        if puts("/ref$")(request) and not other:
            other.append(None)
            other[0] = second.run("push", "agent.json")

    proxy.rules.before.append(push_between)
    outcome = first.run("push", "agent.json")
    assert other[0].code == 0, other[0].stderr
    assert outcome.code == 5, outcome.stderr
    assert prompts(make_machine().pull(url)) == [f"{second.folder.name} {number}" for number in range(3)]
