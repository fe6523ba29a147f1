"""Names of recordings in a store: states by hash, by tag and newest, and the commands that take them."""

from __future__ import annotations

import json

import pytest

from machine import calls, contents, entries, expected


@pytest.fixture
def url(machine, bucket):
    """A pushed recording of three calls, with a tag."""
    assert machine.record("agent.json").code == 0
    outcome = machine.run("push", "agent.json", f"{bucket.url()}@v1.0")
    assert outcome.code == 0, outcome.stderr
    return bucket.url()


def record_edition(machine, url, upstream, edition):
    """Records the same calls again, with other answers, and compacts."""
    upstream.edition = edition
    outcome = machine.record(url)
    assert outcome.code == 0, outcome.stderr
    outcome = machine.run("merge", url)
    assert outcome.code == 0, outcome.stderr


def test_pinned_names_stay_while_others_record_and_compact(machine, make_machine, url, upstream):
    pinned = json.loads(machine.path("agent.remote.json").read_bytes())["manifest"]
    before = machine.path("agent.json").read_bytes()
    other = make_machine()
    for edition in (2, 3):
        record_edition(other, url, upstream, edition)
        for name in (f"{url}@{pinned}", f"{url}@v1.0", str(machine.path("agent.remote.json"))):
            fresh = make_machine()
            outcome = fresh.run("pull", name, "-o", "pulled.json")
            assert outcome.code == 0, outcome.stderr
            assert fresh.path("pulled.json").read_bytes() == before
            replayed = fresh.replay(name)
            assert replayed.code == 0, replayed.stderr
            assert {ack["prompt"]: ack["answer"] for ack in replayed.acks} == expected("call", range(3), 1)
            assert replayed.remote[0]["manifest"] == pinned
        newest = make_machine().replay(url)
        assert newest.code == 0, newest.stderr
        assert {ack["prompt"]: ack["answer"] for ack in newest.acks} == expected("call", range(3), edition)
        assert newest.remote[0]["manifest"] != pinned


def test_tag_never_moves(machine, bucket, url):
    tag = json.loads(bucket.get("agent/tags/v1.0"))
    ref = bucket.ref()
    assert tag == {"format": "loomrec-tag/1", "manifest": ref["manifest"]}
    again = machine.run("push", "agent.json", "@v1.0")
    assert again.code == 0, again.stderr
    assert machine.record("agent.json", client=calls(first=3)).code == 0
    refused = machine.run("push", "agent.json", "@v1.0")
    assert refused.code in (2, 5), refused.stderr
    assert "v1.0" in refused.stderr
    assert json.loads(bucket.get("agent/tags/v1.0")) == tag
    assert bucket.ref()["manifest"] == ref["manifest"]
    forced = machine.run("push", "agent.json", "@v1.0", "--force")
    assert forced.code in (2, 5), forced.stderr
    assert json.loads(bucket.get("agent/tags/v1.0")) == tag
    assert machine.run("push", "agent.json", "@v2").code == 0
    assert len(entries(machine.pull(f"{url}@v2"))) == 6
    assert len(entries(machine.pull(f"{url}@v1.0"))) == 3


@pytest.mark.parametrize("end", ["@v9", "@sha256:" + "0" * 64, "-other"])
def test_state_that_does_not_exist_is_named(machine, url, end):
    outcome = machine.replay(url + end)
    assert outcome.code == 4, outcome.stderr
    assert not outcome.has_started
    assert len(outcome.error_lines) == 1, outcome.stderr
    assert end.removeprefix("@").removeprefix("sha256:") in outcome.stderr


def spoken(outcome):
    assert outcome.code == 0, outcome.stderr
    return outcome.stdout


def test_commands_that_read_take_every_kind_of_name(machine, make_machine, url):
    pinned = json.loads(machine.path("agent.remote.json").read_bytes())["manifest"]
    pointer, file = machine.path("agent.remote.json"), machine.path("agent.json")
    listed = json.loads(spoken(machine.run("ls", file, "--json")))
    shown = [spoken(machine.run("show", file, call["key"], "--json")) for call in listed]
    summed = json.loads(spoken(machine.run("stats", file, "--json")))["all"]
    spoken(machine.run("export", "--to", "har", file, "-o", "file.har"))
    exported = machine.path("file.har").read_bytes()
    other = make_machine()
    for name in (url, f"{url}@{pinned}", f"{url}@v1.0", pointer):
        assert json.loads(spoken(other.run("ls", name, "--json"))) == listed
        assert [spoken(other.run("show", name, call["key"], "--json")) for call in listed] == shown
        assert json.loads(spoken(other.run("stats", name, "--json")))["all"] == summed
        assert json.loads(spoken(other.run("diff", name, file, "--json")))["same"] is True
        assert json.loads(spoken(other.run("verify", name, "--json")))["ok"] is True
        spoken(other.run("export", "--to", "har", name, "-o", "remote.har", "--force"))
        assert other.path("remote.har").read_bytes() == exported
        spoken(other.run("merge", "-o", "merged.json", "--force", name, file))
        assert json.loads(other.path("merged.json").read_bytes()) == json.loads(file.read_bytes())


def test_diff_shows_what_a_recorder_has_changed(make_machine, url, upstream):
    record_edition(make_machine(), url, upstream, 2)
    outcome = make_machine().run("diff", f"{url}@v1.0", url, "--json")
    assert outcome.code == 1, outcome.stderr
    summary = json.loads(outcome.stdout)["summary"]
    assert (summary["changed"], summary["only_a"], summary["only_b"]) == (3, 0, 0)


CHANGING = [
    ["prune", "NAME", "--older-than", "1d", "--apply"],
    ["redact", "NAME", "--redact", "edition", "--apply"],
    ["review", "NAME"],
    ["review", "NAME", "--accept"],
    ["review", "NAME", "--reject"],
    ["rerecord", "NAME", "--yes"],
    ["noise", "NAME", "agent.json", "--apply"],
    ["merge", "-o", "NAME", "agent.json", "agent.json"],
]


def test_commands_that_change_a_recording_refuse_names_of_states(machine, bucket, proxy, url):
    """The store sees no write, and the pointer file stays as it is."""
    before, pointer = bucket.contents(), machine.path("agent.remote.json").read_bytes()
    proxy.forget()
    accepted = []
    for name in (url, f"{url}@v1.0", "agent.remote.json"):
        for line in CHANGING:
            outcome = machine.run(*(name if word == "NAME" else word for word in line))
            if outcome.code != 2 or not outcome.error_lines:
                accepted.append((" ".join(line), name, outcome.code, outcome.stderr))
    assert accepted == []
    assert proxy.writes == []
    assert bucket.contents() == before
    assert machine.path("agent.remote.json").read_bytes() == pointer


def test_record_refuses_pinned_names(machine, url):
    for name in (f"{url}@v1.0", f"{url}@sha256:{'0' * 64}"):
        marker = machine.path("marker")
        outcome = machine.record(name, client=calls("call", 1, "--marker", str(marker)))
        assert outcome.code == 2, outcome.stderr
        assert not marker.exists()


def test_names_may_end_in_the_same_part(machine, bucket):
    """Recordings beside and below each other do not see each other's objects."""
    for name in ("a", "a/b", "a-b", "b/a"):
        outcome = machine.record(bucket.url(name), client=calls(name))
        assert outcome.code == 0, outcome.stderr
    for name in ("a", "a/b", "a-b", "b/a"):
        assert contents(machine.pull(bucket.url(name))) == expected(name, range(3))
