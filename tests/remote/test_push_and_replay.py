"""A recording is pushed, pulled and replayed by its pointer, with and without the store."""

from __future__ import annotations

import hashlib
import json
import shutil

import pytest

from machine import CLIENT, calls, entries, expected
from object_store import unzip_checked


@pytest.fixture
def pushed(machine, bucket):
    """A machine with a recording of three calls that it has pushed."""
    assert machine.record("agent.json").code == 0
    outcome = machine.run("push", "agent.json", bucket.url("team/agent"))
    assert outcome.code == 0, outcome.stderr
    return machine


def pointer_of(machine, name="agent"):
    return json.loads(machine.path(f"{name}.remote.json").read_bytes())


def take_pointer(machine, other):
    """Copies the pointer file to another machine, as git would."""
    shutil.copy(machine.path("agent.remote.json"), other.path("agent.remote.json"))


def test_push_writes_a_pointer_file_and_the_documented_objects(pushed, bucket):
    pointer = pointer_of(pushed)
    assert list(pointer) == ["format", "url", "manifest", "takes", "bytes"]
    assert pointer["format"] == "loomrec-pointer/1"
    assert pointer["url"] == bucket.url("team/agent")
    assert pointer["takes"] == 3
    assert pointer["bytes"] > 0
    text = pushed.path("agent.remote.json").read_text(encoding="utf-8")
    assert text == json.dumps(pointer, indent=2) + "\n"

    digest = pointer["manifest"].removeprefix("sha256:")
    ref = bucket.ref("team/agent")
    assert (ref["format"], ref["manifest"]) == ("loomrec-ref/1", pointer["manifest"])
    assert isinstance(ref["generation"], int)
    manifest = bucket.manifest(digest, "team/agent")
    assert manifest["format"] == "loomrec-manifest/1"
    recording = json.loads(pushed.path("agent.json").read_bytes())
    assert manifest["about"] == {key: value for key, value in recording.items() if key.startswith("_")}
    assert [take["name"] for take in manifest["takes"]] == [key for key in recording if not key.startswith("_")]
    assert not any("recorder" in take for take in manifest["takes"])
    for take, entry in zip(manifest["takes"], entries(recording), strict=True):
        hexes = take["object"].removeprefix("sha256:")
        stored = unzip_checked(bucket.get(f"team/agent/objects/{hexes[:2]}/{hexes}"), hexes)
        assert json.loads(stored) == entry
        assert take["recorded_at"] == entry["recorded_at"]
    known = {"team/agent/ref", f"team/agent/manifests/{digest}"}
    others = set(bucket.keys()) - known
    assert len(others) == 3 and all(key.startswith("team/agent/objects/") for key in others)


def test_manifest_has_a_take_in_each_line(pushed, bucket):
    digest = bucket.manifest_hash("team/agent")
    text = unzip_checked(bucket.get(f"team/agent/manifests/{digest}"), digest).decode()
    manifest = json.loads(text)
    lines = [line.strip().rstrip(",") for line in text.splitlines()]
    for take in manifest["takes"]:
        assert [line for line in lines if line.startswith("{") and line.endswith("}") and json.loads(line) == take]


def test_replay_by_pointer_serves_the_recorded_bytes_then_needs_no_store(
        pushed, bucket, proxy, upstream, make_machine):
    recorded = pushed.start_recorder("again.json")
    assert recorded.wait().code == 0
    answered = len(upstream.prompts)
    other = make_machine()
    take_pointer(pushed, other)
    proxy.forget()
    first = other.replay("agent.remote.json")
    assert first.code == 0, first.stderr
    assert first.acks == recorded.acks
    assert len(first.remote) == 1
    member = first.remote[0]
    assert member["name"] == "agent.remote.json"
    assert member["url"] == bucket.url("team/agent")
    assert member["manifest"] == pointer_of(pushed)["manifest"]
    assert member["offline"] is False
    assert member["fetched"] >= 3
    assert proxy.writes == []
    assert len(upstream.prompts) == answered

    # A full cache needs no network and no credentials.
    proxy.forget()
    other.identify(None)
    warm = other.replay("agent.remote.json")
    assert warm.code == 0, warm.stderr
    assert proxy.requests == []
    proxy.stop()
    offline = other.replay("agent.remote.json")
    assert offline.code == 0, offline.stderr
    for outcome in (warm, offline):
        assert outcome.acks == recorded.acks
        assert outcome.remote[0]["offline"] is True
        assert outcome.remote[0]["fetched"] == 0


def test_replays_at_the_same_time_share_a_cold_cache(pushed, make_machine):
    other = make_machine()
    take_pointer(pushed, other)
    running = [other.start("replay", "-r", "agent.remote.json", "--", *CLIENT, "--calls", "3") for _ in range(4)]
    for replay in running:
        outcome = replay.wait()
        assert outcome.code == 0, outcome.stderr


def test_settings_may_name_a_remote_recording(pushed, bucket):
    """A command without a FILE reads the recording that loomrec.toml or a variable names."""
    listed = pushed.run("ls", "agent.json", "--json").stdout
    pushed.path("loomrec.toml").write_text('recording = "agent.remote.json"\n', encoding="utf-8")
    assert pushed.run("ls", "--json").code == 2
    assert pushed.run("trust", "--yes").code == 0
    outcome = pushed.run("ls", "--json")
    assert (outcome.code, outcome.stdout) == (0, listed), outcome.stderr
    outcome = pushed.run("ls", "--json", LOOMREC_RECORDING=bucket.url("team/agent"))
    assert (outcome.code, outcome.stdout) == (0, listed), outcome.stderr


def test_cache_can_be_deleted_at_any_time(pushed):
    assert pushed.replay("agent.remote.json").code == 0
    shutil.rmtree(pushed.cache, ignore_errors=True)
    again = pushed.replay("agent.remote.json")
    assert again.code == 0, again.stderr
    assert again.remote[0]["offline"] is False


@pytest.mark.parametrize("how", ["pointer", "hash", "newest"])
def test_cold_cache_and_no_store_ends_before_the_command_starts(pushed, bucket, proxy, make_machine, how):
    other = make_machine()
    take_pointer(pushed, other)
    proxy.stop()
    name = {"pointer": "agent.remote.json", "newest": bucket.url("team/agent"),
            "hash": f"{bucket.url('team/agent')}@{pointer_of(pushed)['manifest']}"}[how]
    outcome = other.replay(name)
    assert outcome.code == 4, outcome.stderr
    assert not outcome.has_started
    assert f"127.0.0.1:{proxy.port}" in outcome.stderr
    assert "AWS_ENDPOINT_URL" in outcome.stderr
    assert len(outcome.error_lines) == 1, outcome.stderr


def test_stale_ok_replays_the_state_that_was_seen_last(pushed, bucket, proxy, make_machine):
    other = make_machine()
    url = bucket.url("team/agent")
    online = other.replay(url, "--stale-ok")
    assert online.code == 0, online.stderr
    assert online.remote[0]["offline"] is False
    proxy.stop()
    refused = other.replay(url)
    assert refused.code == 4 and not refused.has_started
    stale = other.replay(url, "--stale-ok")
    assert stale.code == 0, stale.stderr
    assert stale.acks == online.acks
    assert stale.remote[0]["offline"] is True
    assert stale.remote[0]["age_seconds"] >= 0
    assert stale.remote[0]["manifest"] == online.remote[0]["manifest"]
    never_seen = make_machine().replay(url, "--stale-ok")
    assert never_seen.code == 4 and not never_seen.has_started


def test_pull_gives_the_very_bytes_that_were_pushed(machine, bucket, make_machine):
    """Steps, streams and repeated calls included."""
    assert machine.record("agent.json", client=calls("whole", 4)).code == 0
    for _ in range(2):
        assert machine.record("agent.json", "--run", "r", client=calls("streamed", 4, "--stream")).code == 0
    assert machine.record("agent.json", client=calls("step", 4, "--steps")).code == 0
    content = machine.path("agent.json").read_bytes()
    assert b"#2" in content
    outcome = machine.run("push", "agent.json", bucket.url("a/b.c-d_e+f=g,h"))
    assert outcome.code == 0, outcome.stderr
    other = make_machine()
    outcome = other.run("pull", bucket.url("a/b.c-d_e+f=g,h"), "-o", "pulled.json")
    assert outcome.code == 0, outcome.stderr
    assert other.path("pulled.json").read_bytes() == content
    assert pointer_of(machine)["takes"] == len(entries(json.loads(content)))


def test_pull_without_output_fills_the_cache(pushed, proxy, make_machine):
    other = make_machine()
    take_pointer(pushed, other)
    outcome = other.run("pull", "agent.remote.json")
    assert outcome.code == 0, outcome.stderr
    assert sorted(path.name for path in other.work.iterdir()) == ["agent.remote.json"]
    proxy.stop()
    replayed = other.replay("agent.remote.json")
    assert replayed.code == 0, replayed.stderr
    assert replayed.remote[0]["offline"] is True


def test_second_push_uploads_only_what_is_new(pushed, bucket, proxy):
    assert pushed.record("agent.json", client=calls(first=3)).code == 0
    proxy.forget()
    outcome = pushed.run("push", "agent.json")
    assert outcome.code == 0, outcome.stderr
    objects = [request.key for request in proxy.writes if "/objects/" in request.key]
    assert len(objects) == len(set(objects)) == 3
    assert pointer_of(pushed)["takes"] == 6
    assert bucket.ref("team/agent")["manifest"] == pointer_of(pushed)["manifest"]
    assert bucket.ref("team/agent")["generation"] > 0


def test_push_refuses_to_replace_a_state_that_it_does_not_know(pushed, bucket, make_machine):
    other = make_machine()
    take_pointer(pushed, other)
    for machine in (pushed, other):
        assert machine.record("agent.json", client=calls(machine.folder.name, first=10)).code == 0
    assert other.run("push", "agent.json").code == 0
    ref, pointer = bucket.ref("team/agent"), pointer_of(pushed)
    refused = pushed.run("push", "agent.json")
    assert refused.code == 5, refused.stderr
    assert "--force" in refused.stderr or "merge" in refused.stderr
    assert bucket.ref("team/agent") == ref
    assert pointer_of(pushed) == pointer
    forced = pushed.run("push", "--force", "agent.json")
    assert forced.code == 0, forced.stderr
    assert bucket.ref("team/agent")["manifest"] == pointer_of(pushed)["manifest"] != pointer["manifest"]
    assert bucket.ref("team/agent")["generation"] > ref["generation"]


def test_pull_merge_push_brings_both_changes_together(pushed, bucket, make_machine):
    other = make_machine()
    take_pointer(pushed, other)
    for machine in (pushed, other):
        assert machine.record("mine.json", client=calls(machine.folder.name)).code == 0
    assert other.run("merge", "-o", "agent.json", "agent.remote.json", "mine.json").code == 0
    assert other.run("push", "agent.json").code == 0
    assert pushed.run("merge", "--force", "-o", "agent.json", "agent.json", "mine.json").code == 0
    assert pushed.run("push", "agent.json").code == 5
    assert pushed.run("pull", bucket.url("team/agent"), "-o", "theirs.json").code == 0
    assert pushed.run("merge", "--force", "-o", "agent.json", "agent.json", "theirs.json").code == 0
    assert pushed.run("pull", "--update", "agent.remote.json").code == 0
    outcome = pushed.run("push", "agent.json")
    assert outcome.code == 0, outcome.stderr
    assert pointer_of(pushed)["takes"] == 9


def test_pull_update_moves_the_pointer_to_the_newest_state(pushed, make_machine):
    other = make_machine()
    take_pointer(pushed, other)
    assert pushed.record("agent.json", client=calls(first=3)).code == 0
    assert pushed.run("push", "agent.json").code == 0
    old = pointer_of(other)
    assert other.run("pull", "agent.remote.json").code == 0
    assert pointer_of(other) == old
    outcome = other.run("pull", "--update", "agent.remote.json")
    assert outcome.code == 0, outcome.stderr
    assert pointer_of(other) == pointer_of(pushed)
    assert other.pull("agent.remote.json") == json.loads(pushed.path("agent.json").read_bytes())


def test_push_without_pointer_and_address_is_wrong_usage(machine, bucket):
    assert machine.record("agent.json").code == 0
    outcome = machine.run("push", "agent.json")
    assert outcome.code == 2, outcome.stderr
    assert not machine.path("agent.remote.json").exists()
    assert bucket.keys() == []


def test_push_of_what_is_no_recording_uploads_nothing(machine, bucket):
    machine.path("text.json").write_text('{"a": [1, 2', encoding="utf-8")
    for name in ("text.json", "missing.json"):
        outcome = machine.run("push", name, bucket.url())
        assert outcome.code == 4, outcome.stderr
        assert name in outcome.stderr
    assert bucket.keys() == []


def test_push_of_the_same_bytes_changes_nothing(pushed, bucket):
    before, pointer = bucket.keys(), pushed.path("agent.remote.json").read_bytes()
    outcome = pushed.run("push", "agent.json")
    assert outcome.code == 0, outcome.stderr
    assert pushed.path("agent.remote.json").read_bytes() == pointer
    assert set(bucket.keys()) == set(before)
    assert bucket.ref("team/agent")["manifest"] == pointer_of(pushed)["manifest"]


def test_replay_takes_pointers_and_files_together(pushed):
    assert pushed.record("more.json", client=calls(first=3)).code == 0
    outcome = pushed.replay("agent.remote.json", "-r", "more.json", client=calls(count=6))
    assert outcome.code == 0, outcome.stderr
    assert {ack["prompt"]: ack["answer"] for ack in outcome.acks} == expected("call", range(6))
    assert len(outcome.remote) == 1


def test_entry_with_a_hash_in_the_bucket_is_the_text_in_the_file(pushed, bucket):
    """The layout lets everyone check a bucket with gzip and sha256sum."""
    for key in bucket.keys("team/agent/objects/"):
        _, pair, digest = key.rsplit("/", 2)
        assert pair == digest[:2]
        text = unzip_checked(bucket.get(key), digest)
        assert hashlib.sha256(text).hexdigest() == digest
        assert json.loads(text)["response"]["status"] == 200
