"""`gc` removes what no state needs, and nothing else."""

from __future__ import annotations

import pytest

from machine import calls, contents, entries, expected
from process import wait_until
from proxy import OldObjects, puts


@pytest.fixture
def url(machine, bucket, upstream):
    """A recording with a tagged state, an untagged one, and the newest one, which needs none of their takes."""
    url = bucket.url()
    for edition, tag in ((1, "@kept"), (2, ""), (3, "")):
        upstream.edition = edition
        assert machine.record("agent.json").code == 0
        outcome = machine.run("push", "agent.json", url + tag)
        assert outcome.code == 0, outcome.stderr
    assert len(bucket.keys("agent/objects/")) == 9
    assert len(bucket.keys("agent/manifests/")) == 3
    return url


def assert_states(machine, url):
    assert contents(machine.pull(f"{url}@kept")) == expected("call", range(3), 1)
    assert contents(machine.pull(url)) == expected("call", range(3), 3)


def test_young_objects_are_kept(machine, make_machine, bucket, proxy, url):
    before = bucket.contents()
    proxy.forget()
    for flags in ([], ["--keep", "0d"]):
        outcome = machine.run("gc", url, *flags)
        assert outcome.code == 0, outcome.stderr
    assert proxy.writes == []
    outcome = machine.run("gc", url, "--apply", "--keep", "0d")
    assert outcome.code == 0, outcome.stderr
    assert bucket.contents() == before
    assert_states(make_machine(), url)


def test_dry_run_shows_and_changes_nothing(machine, bucket, proxy, url):
    before = bucket.contents()
    proxy.rules.change.append(OldObjects(bucket.keys()))
    proxy.requests = []
    outcome = machine.run("gc", url)
    assert outcome.code == 0, outcome.stderr
    assert "--apply" in outcome.stdout + outcome.stderr
    assert proxy.writes == []
    assert bucket.contents() == before


def test_old_objects_that_no_state_needs_are_removed(machine, make_machine, bucket, proxy, url):
    proxy.rules.change.append(OldObjects(bucket.keys()))
    outcome = machine.run("gc", url, "--apply")
    assert outcome.code == 0, outcome.stderr
    assert len(bucket.keys("agent/objects/")) == 6
    assert len(bucket.keys("agent/manifests/")) == 2
    assert_states(make_machine(), url)
    again = machine.run("gc", url, "--apply")
    assert again.code == 0, again.stderr
    assert len(bucket.keys("agent/objects/")) == 6


def test_states_younger_than_keep_are_kept(machine, make_machine, bucket, proxy, url):
    """They are 200 days old here."""
    before = bucket.contents()
    proxy.rules.change.append(OldObjects(bucket.keys()))
    outcome = machine.run("gc", url, "--apply", "--keep", "300d")
    assert outcome.code == 0, outcome.stderr
    assert bucket.contents() == before
    assert_states(make_machine(), url)


def test_segments_that_are_not_merged_are_kept(machine, make_machine, bucket, proxy):
    """However old: they are the only copy of what was recorded."""
    assert machine.record(bucket.url(), "--run", "r").code == 0
    segments = bucket.segments()
    proxy.rules.change.append(OldObjects(bucket.keys()))
    outcome = machine.run("gc", bucket.url(), "--apply", "--keep", "0d")
    assert outcome.code == 0, outcome.stderr
    assert bucket.segments() == segments
    proxy.forget()
    assert make_machine().run("merge", bucket.url()).code == 0
    assert contents(make_machine().pull(bucket.url())) == expected("call", range(3))


def test_replaced_takes_of_recorders_go_and_the_newest_state_stays(make_machine, bucket, proxy, upstream):
    url = bucket.url()
    for edition in (1, 2, 3):
        upstream.edition = edition
        assert make_machine().record(url).code == 0
    assert len(bucket.keys("agent/objects/")) == 9
    proxy.rules.change.append(OldObjects(bucket.keys()))
    for _ in range(2):
        outcome = make_machine().run("gc", url, "--apply", "--keep", "0d")
        assert outcome.code == 0, outcome.stderr
    proxy.forget()
    assert contents(make_machine().pull(url)) == expected("call", range(3), 3)
    outcome = make_machine().run("verify", url)
    assert outcome.code == 0, outcome.stderr
    upstream.edition = 4
    assert make_machine().record(url).code == 0
    assert contents(make_machine().pull(url)) == expected("call", range(3), 4)


def test_other_recordings_in_the_bucket_are_left_alone(machine, make_machine, bucket, proxy, url):
    for name in ("agent/below", "agent2", "other"):
        outcome = machine.run("push", "agent.json", bucket.url(name))
        assert outcome.code == 0, outcome.stderr
    bucket.put("agent/notes.txt", b"not loomrec's")
    others = {key: content for key, content in bucket.contents().items()
              if not key.startswith("agent/") or key.startswith("agent/below/") or key == "agent/notes.txt"}
    proxy.rules.change.append(OldObjects(bucket.keys()))
    assert machine.run("gc", url, "--apply", "--keep", "0d").code == 0
    after = bucket.contents()
    assert {key: after.get(key) for key in others} == others
    for name in ("agent/below", "agent2", "other"):
        assert len(entries(make_machine().pull(bucket.url(name)))) == 3


@pytest.mark.parametrize("has_written", [True, False], ids=["has written", "idle"])
def test_recorder_that_is_alive_is_not_cut_off(machine, make_machine, bucket, proxy, has_written):
    """Its file is old here, and all that it has written is merged."""
    assert make_machine().record(bucket.url(), client=calls("first")).code == 0
    pauses = [2] if has_written else [0]
    recorder = machine.start_recorder(bucket.url(), client=calls("live", 6, pause=[*pauses, 4]))
    recorder.wait_for_pause()
    if has_written:
        wait_until(lambda: bucket.segments() != [], "the upload of a segment")
        assert make_machine().run("merge", bucket.url()).code == 0
    files = bucket.keys("agent/runs/")
    assert [file.rpartition("/")[2] for file in files] == ["recorder.json"]
    proxy.rules.change.append(OldObjects(bucket.keys()))
    outcome = make_machine().run("gc", bucket.url(), "--apply", "--keep", "0d")
    assert outcome.code == 0, outcome.stderr
    assert bucket.keys("agent/runs/") == (files if has_written else [])
    proxy.forget()
    recorder.go_on()
    recorder.wait_for_pause()
    wait_until(lambda: bucket.segments() != [], "the upload of a segment")
    # Anybody can read and merge what it uploads.
    recorded = {**expected("first", range(3)), **expected("live", range(4))}
    assert contents(make_machine().pull(bucket.url())) == recorded
    assert make_machine().run("merge", bucket.url()).code == 0
    recorder.go_on()
    outcome = recorder.wait()
    assert outcome.code == 0, outcome.stderr
    assert contents(make_machine().pull(bucket.url())) == {**recorded, **expected("live", range(6))}


def test_gc_of_nothing_says_so(machine, bucket):
    outcome = machine.run("gc", bucket.url())
    assert outcome.code in (0, 4), outcome.stderr
    assert outcome.stdout + outcome.stderr


@pytest.mark.parametrize("keep", ["", "-1d", "1y", "soon", "0"])
def test_keep_that_is_no_time_is_wrong_usage(machine, bucket, keep):
    outcome = machine.run("gc", bucket.url(), f"--keep={keep}")
    assert outcome.code == 2, outcome.stderr


@pytest.mark.parametrize("how", ["push", "merge"])
def test_gc_during_a_push_that_needs_an_old_object_again(machine, make_machine, bucket, proxy, url, how):
    """The object is there, so it is not uploaded; gc finds it old and needed by nobody, just before it is."""
    assert machine.run("pull", f"{url}@kept", "-o", "first.json").code == 0
    bucket.delete("agent/tags/kept")
    proxy.rules.change.append(OldObjects(bucket.keys()))
    collected = []

    def collect(request):
        if puts("/ref$")(request) and not collected:
            collected.append(make_machine().run("gc", url, "--apply", "--keep", "0d"))

    proxy.rules.before.append(collect)
    if how == "push":
        outcome = machine.run("push", "--force", "first.json", url)
    else:
        outcome = machine.record(url, client=calls("new"))
    assert collected and collected[0].code == 0
    proxy.forget()
    if outcome.code == 0:
        recording = make_machine().pull(url)
        recorded = {**expected("call", range(3), 3), **expected("new", range(3), 3)}
        assert contents(recording) == (expected("call", range(3), 1) if how == "push" else recorded)
    else:
        # Refused: the newest state is still a whole one.
        assert contents(make_machine().pull(url)) == expected("call", range(3), 3)
