"""Objects that are missing or damaged in the bucket are found, and restored from what is still there."""

from __future__ import annotations

import shutil

import pytest

from machine import KillAt, calls, contents, expected
from object_store import Bucket
from test_damage import DAMAGES, damage

#: What a listing shows.
LISTED = ("deleted", "empty")


@pytest.fixture
def pushed(machine, bucket):
    """A machine that has pushed a recording of three calls, and has no cache any more."""
    assert machine.record("agent.json").code == 0
    assert machine.run("push", "agent.json", f"{bucket.url()}@v1").code == 0
    shutil.rmtree(machine.cache)
    return machine


def assert_whole(make_machine, bucket):
    assert contents(make_machine().pull(bucket.url())) == expected("call", range(3))
    outcome = make_machine().run("verify", "--deep", bucket.url())
    assert outcome.code == 0, outcome.stderr


@pytest.mark.parametrize("kind", ["objects", "manifests"])
@pytest.mark.parametrize("how", DAMAGES)
def test_verify_names_what_is_damaged_though_its_cache_is_full(pushed, make_machine, bucket, how, kind):
    other = make_machine()
    other.pull(bucket.url())
    key = bucket.keys(f"agent/{kind}/")[0]
    damage(bucket, key, how)
    outcome = other.run("verify", "--deep", bucket.url())
    assert outcome.code == 4, outcome.stderr
    assert key in outcome.stderr
    # Manifests are always read. Objects are listed.
    outcome = other.run("verify", bucket.url())
    is_found = kind == "manifests" or how in LISTED
    assert outcome.code == (4 if is_found else 0), outcome.stderr
    assert (key in outcome.stderr) == is_found


@pytest.mark.parametrize("how", DAMAGES)
def test_verify_fix_restores_from_the_cache(pushed, make_machine, bucket, how):
    other = make_machine()
    other.pull(bucket.url())
    damaged = [*bucket.keys("agent/objects/")[:2], *bucket.keys("agent/manifests/")]
    for key in damaged:
        damage(bucket, key, how)
    outcome = other.run("verify", "--fix", bucket.url())
    assert outcome.code == 0, outcome.stderr
    assert "objects restored: 3" in outcome.stderr
    assert_whole(make_machine, bucket)


@pytest.mark.parametrize("how", DAMAGES)
def test_push_repair_restores_from_the_recording(pushed, make_machine, bucket, how):
    ref = bucket.get("agent/ref")
    for key in bucket.keys("agent/objects/") + bucket.keys("agent/manifests/"):
        damage(bucket, key, how)
    outcome = pushed.run("push", "--fix", "agent.json")
    assert outcome.code == 0, outcome.stderr
    assert "objects restored: 4" in outcome.stderr
    assert bucket.get("agent/ref") == ref
    assert_whole(make_machine, bucket)


@pytest.mark.parametrize("flags", [[], ["--force"]], ids=["push", "force"])
@pytest.mark.parametrize("how", ["deleted", "empty", "truncated", "a bomb"])
def test_push_uploads_what_is_missing_or_has_another_length(pushed, make_machine, bucket, how, flags):
    for key in bucket.keys("agent/objects/")[:2]:
        damage(bucket, key, how)
    outcome = pushed.run("push", "agent.json", *flags)
    assert outcome.code == 0, outcome.stderr
    assert "objects uploaded: 2" in outcome.stderr
    assert_whole(make_machine, bucket)
    outcome = pushed.run("push", "agent.json", *flags)
    assert "objects uploaded: 0" in outcome.stderr


@pytest.mark.parametrize("how", DAMAGES)
def test_verify_fix_restores_from_segments(machine, make_machine, bucket, proxy, how):
    assert machine.record(bucket.url(), "--run", "r").code == 0
    kill = KillAt(lambda request: request.method in ("DELETE", "POST"))
    proxy.rules.before.append(kill)
    kill.wait_for_end_of(make_machine().start("merge", bucket.url()))
    proxy.forget()
    for key in bucket.keys("agent/objects/"):
        damage(bucket, key, how)
    outcome = make_machine().run("verify", "--fix", bucket.url())
    assert outcome.code == 0, outcome.stderr
    assert "objects restored: 3" in outcome.stderr
    assert_whole(make_machine, bucket)


@pytest.mark.parametrize("command", ["verify", "push"])
def test_what_cannot_be_restored_is_named(pushed, make_machine, bucket, command):
    """The recording has other calls, and neither a cache nor a segment is left."""
    other = make_machine()
    assert other.record("other.json", client=calls("other")).code == 0
    lost = bucket.keys("agent/objects/")
    for key in lost[:2]:
        bucket.delete(key)
    line = ["verify", "--fix", bucket.url()] if command == "verify" else ["push", "--fix", "other.json", bucket.url()]
    outcome = other.run(*line)
    assert outcome.code == (4 if command == "verify" else 5), outcome.stderr
    assert [key for key in lost if key in outcome.stderr] == lost[:2]
    assert "objects restored: 0" in outcome.stderr
    assert not bucket.keys("agent/objects/")[1:]


def test_tagged_state_is_checked_too(pushed, make_machine, bucket, upstream):
    upstream.edition = 2
    old = set(bucket.keys("agent/objects/"))
    assert pushed.record("agent.json").code == 0
    assert pushed.run("push", "agent.json").code == 0
    damage(bucket, min(old), "deleted")
    for name, code in ((bucket.url(), 4), (f"{bucket.url()}@v1", 4),
                       (f"{bucket.url()}@sha256:{bucket.manifest_hash()}", 0)):
        outcome = make_machine().run("verify", name)
        assert outcome.code == code, (name, outcome.stderr)


def test_pointer_is_verified_without_the_store(pushed, make_machine, proxy):
    """It may be one of many files of a project. The check that was not made is said."""
    other = make_machine()
    pointer = pushed.path("agent.remote.json")
    assert other.run("verify", pointer).code == 0
    proxy.stop()
    outcome = other.run("verify", pointer)
    assert outcome.code == 0, outcome.stderr
    assert "the store was not checked" in outcome.stderr
    for flags in (["--deep"], ["--fix"]):
        assert other.run("verify", *flags, pointer).code == 4


def test_repair_on_a_real_store(seaweedfs, make_machine):
    bucket = Bucket(seaweedfs.port, "loomrec-repair")
    endpoint = f"http://127.0.0.1:{seaweedfs.port}"
    machine = make_machine(endpoint=endpoint)
    assert machine.record("agent.json").code == 0
    assert machine.run("push", "agent.json", bucket.url()).code == 0
    shutil.rmtree(machine.cache)
    for key, how in zip(bucket.keys("agent/objects/"), ("a flipped bit", "deleted", "a bomb"), strict=True):
        damage(bucket, key, how)
    assert make_machine(endpoint=endpoint).run("verify", bucket.url()).code == 4
    outcome = machine.run("push", "--fix", "agent.json")
    assert outcome.code == 0, outcome.stderr
    other = make_machine(endpoint=endpoint)
    assert other.run("verify", "--deep", bucket.url()).code == 0
    assert contents(other.pull(bucket.url())) == expected("call", range(3))
