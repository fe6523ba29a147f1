"""Objects in the bucket, or files in the cache, are not what they were: they are never served."""

from __future__ import annotations

import gzip
import json
import shutil

import pytest

from machine import KillAt, calls, contents, expected
from process import wait_until
from proxy import puts

URL_NAME = "agent"
TWO_CALLS = calls(count=2)


@pytest.fixture
def pushed(machine, bucket):
    assert machine.record("agent.json", client=TWO_CALLS).code == 0
    assert machine.run("push", "agent.json", bucket.url()).code == 0
    return machine


def replay(machine, name):
    return machine.replay(name, client=TWO_CALLS)


def assert_right(outcome):
    assert {ack["prompt"]: ack["answer"] for ack in outcome.acks} == expected("call", range(2))


def other_answer(content: bytes) -> bytes:
    """Returns a well-formed object that answers something else, or names another object."""
    text = gzip.decompress(content)
    other = text.replace(b"edition 1", b"edition 9") if b"edition 1" in text else text.replace(b"0", b"1")
    assert other != text
    return gzip.compress(other)


DAMAGES = {
    "other bytes": other_answer,
    "a flipped bit": lambda content: content[:-9] + bytes([content[-9] ^ 1]) + content[-8:],
    "truncated": lambda content: content[: len(content) // 2],
    "empty": lambda _: b"",
    "not gzip": lambda content: gzip.decompress(content),
    "a bomb": lambda _: gzip.compress(bytes(100_000_000), 1),
    "deleted": None,
}


def damage(bucket, key, how):
    if DAMAGES[how] is None:
        bucket.delete(key)
    else:
        bucket.put(key, DAMAGES[how](bucket.get(key)))


@pytest.mark.parametrize("how", DAMAGES)
@pytest.mark.parametrize("kind", ["objects", "manifests"])
def test_damaged_object_is_named_and_not_served(pushed, make_machine, bucket, kind, how):
    key = bucket.keys(f"{URL_NAME}/{kind}/")[0]
    damage(bucket, key, how)
    outcome = replay(make_machine(), pushed.path("agent.remote.json"))
    assert outcome.code == 4, outcome.stderr
    assert not outcome.has_started
    assert key.rpartition("/")[2] in outcome.stderr
    assert len(outcome.error_lines) == 1, outcome.stderr
    pulled = make_machine()
    outcome = pulled.run("pull", bucket.url(), "-o", "pulled.json")
    assert outcome.code == 4, outcome.stderr
    assert key.rpartition("/")[2] in outcome.stderr
    assert not pulled.path("pulled.json").exists()


@pytest.mark.parametrize("more", [b"more", gzip.compress(b" ")], ids=["junk", "member"])
@pytest.mark.parametrize("kind", ["objects", "manifests"])
def test_what_follows_an_object_is_not_served(pushed, make_machine, bucket, kind, more):
    for key in bucket.keys(f"{URL_NAME}/{kind}/"):
        bucket.put(key, bucket.get(key) + more)
    outcome = replay(make_machine(), bucket.url())
    assert outcome.code in (0, 4), outcome.stderr
    if outcome.code == 0:
        assert_right(outcome)


def test_damage_does_not_spoil_the_cache(pushed, make_machine, bucket):
    """What was refused once is fetched again when the store has it right."""
    key = bucket.keys(f"{URL_NAME}/objects/")[0]
    good = bucket.get(key)
    bucket.put(key, other_answer(good))
    other = make_machine()
    assert replay(other, bucket.url()).code == 4
    bucket.put(key, good)
    outcome = replay(other, bucket.url())
    assert outcome.code == 0, outcome.stderr


def test_full_cache_does_not_need_the_damaged_object(pushed, make_machine, bucket):
    other = make_machine()
    pointer = pushed.path("agent.remote.json")
    assert replay(other, pointer).code == 0
    for key in bucket.keys():
        bucket.delete(key)
    outcome = replay(other, pointer)
    assert outcome.code == 0, outcome.stderr
    assert outcome.remote[0]["offline"] is True


def spoil(path, how):
    content = path.read_bytes()
    if how == "truncated":
        path.write_bytes(content[: len(content) // 2])
    elif how == "empty":
        path.write_bytes(b"")
    elif how == "removed":
        path.unlink()
    else:
        middle = len(content) // 2
        path.write_bytes(content[:middle] + bytes([content[middle] ^ 0x20]) + content[middle + 1:])


@pytest.mark.parametrize("how", ["a flipped bit", "truncated", "empty", "removed"])
def test_damaged_file_of_the_cache_is_fetched_again(pushed, make_machine, proxy, how):
    other = make_machine()
    pointer = pushed.path("agent.remote.json")
    assert replay(other, pointer).code == 0
    files = sorted(path for path in other.cache.rglob("*") if path.is_file())
    assert files
    for path in files:
        content = path.read_bytes()
        spoil(path, how)
        outcome = replay(other, pointer)
        assert outcome.code == 0, (path.name, outcome.stderr)
        assert_right(outcome)
        # Mended: without the store it works again.
        proxy.stop()
        outcome = replay(other, pointer)
        assert outcome.code == 0, (path.name, outcome.stderr)
        proxy.start()
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)


@pytest.mark.parametrize("how", ["a flipped bit", "truncated", "empty"])
def test_damaged_cache_without_the_store_is_never_served(pushed, make_machine, proxy, how):
    other = make_machine()
    pointer = pushed.path("agent.remote.json")
    assert replay(other, pointer).code == 0
    proxy.stop()
    for path in sorted(path for path in other.cache.rglob("*") if path.is_file()):
        content = path.read_bytes()
        spoil(path, how)
        outcome = replay(other, pointer)
        if outcome.code == 0:  # a file that this replay does not need
            assert_right(outcome)
        else:
            assert outcome.code == 4 and not outcome.has_started, (path.name, outcome.stderr)
        path.write_bytes(content)


@pytest.mark.parametrize("how", ["truncated", "other bytes"])
def test_damaged_segment_is_not_merged_silently(machine, make_machine, bucket, how):
    """A segment of the log whose frames are damaged: what is whole is kept, and the loss is said."""
    assert machine.record(bucket.url(), "--run", "r").code == 0
    key = bucket.segments()[0]
    content = bucket.get(key)
    middle = len(content) // 2
    rest = b"" if how == "truncated" else b"\0\0\0\0" + content[middle + 4:]
    bucket.put(key, content[:middle] + rest)
    outcome = make_machine().run("merge", bucket.url())
    assert outcome.code != 0, outcome.stderr
    assert key.rpartition("/")[2] in outcome.stderr
    assert bucket.segments() != [], "the only copy of a damaged segment was removed"


def test_manifest_with_a_lying_hash(pushed, make_machine, bucket):
    """A manifest whose text is right but for another name."""
    digest = bucket.manifest_hash()
    lie = "ab" * 32
    bucket.put(f"agent/manifests/{lie}", bucket.get(f"agent/manifests/{digest}"))
    ref = bucket.ref()
    bucket.put("agent/ref", json.dumps({**ref, "manifest": f"sha256:{lie}"}).encode())
    outcome = replay(make_machine(), bucket.url())
    assert outcome.code == 4, outcome.stderr
    assert not outcome.has_started
    assert lie in outcome.stderr


def spoil_objects(machine, how="a flipped bit"):
    """Damages every object in the cache of a machine."""
    paths = [path for path in machine.cache.glob("objects/*/*") if path.is_file()]
    assert paths
    for path in paths:
        spoil(path, how)


def assert_all_there(make_machine, bucket, label="call", count=2):
    assert contents(make_machine().pull(bucket.url())) == expected(label, range(count))


@pytest.mark.parametrize("how", ["a flipped bit", "truncated", "empty"])
def test_compact_does_not_upload_what_its_cache_has_damaged(machine, make_machine, bucket, how):
    """The segment has the right bytes, and is removed only once the objects are right."""
    assert machine.record(bucket.url(), "--run", "r", client=TWO_CALLS).code == 0
    machine.pull(bucket.url())
    spoil_objects(machine, how)
    outcome = machine.run("merge", bucket.url())
    assert outcome.code == 0, outcome.stderr
    assert bucket.segments() == []
    assert_all_there(make_machine, bucket)


def test_record_does_not_upload_what_its_cache_has_damaged(machine, make_machine, bucket):
    recorder = machine.start_recorder(bucket.url(), client=calls(count=3, pause=[2]))
    recorder.wait_for_pause()
    wait_until(lambda: bucket.segments() != [], "the upload of a segment")
    machine.pull(bucket.url())
    spoil_objects(machine)
    recorder.go_on()
    outcome = recorder.wait()
    assert outcome.code == 0, outcome.stderr
    assert_all_there(make_machine, bucket, count=3)


@pytest.mark.parametrize("how", DAMAGES)
def test_compact_mends_objects_that_a_killed_one_has_uploaded(machine, make_machine, bucket, proxy, how):
    assert machine.record(bucket.url(), "--run", "r", client=TWO_CALLS).code == 0
    kill = KillAt(puts("/manifests/"))
    proxy.rules.before.append(kill)
    kill.wait_for_end_of(make_machine().start("merge", bucket.url()))
    proxy.forget()
    for key in bucket.keys("agent/objects/"):
        damage(bucket, key, how)
    outcome = make_machine().run("merge", bucket.url())
    assert outcome.code == 0, outcome.stderr
    assert_all_there(make_machine, bucket)


@pytest.fixture
def merged_and_left(machine, make_machine, bucket, proxy):
    """A recording whose segment is merged, and was not removed, since the compaction was killed."""
    assert machine.record(bucket.url(), "--run", "r", client=TWO_CALLS).code == 0
    kill = KillAt(lambda request: request.method in ("DELETE", "POST"))
    proxy.rules.before.append(kill)
    kill.wait_for_end_of(make_machine().start("merge", bucket.url()))
    proxy.forget()
    assert len(bucket.segments()) == 1
    return bucket


@pytest.mark.parametrize("how", DAMAGES)
def test_merged_segment_mends_its_objects_before_it_is_removed(merged_and_left, make_machine, how):
    bucket = merged_and_left
    damage(bucket, bucket.keys("agent/objects/")[0], how)
    outcome = make_machine().run("merge", bucket.url())
    assert outcome.code == 0, outcome.stderr
    assert bucket.segments() == []
    assert_all_there(make_machine, bucket)


def test_merged_segment_that_is_damaged_is_removed_if_its_objects_are_right(merged_and_left, make_machine):
    bucket = merged_and_left
    bucket.put(bucket.segments()[0], b"damaged")
    outcome = make_machine().run("merge", bucket.url())
    assert outcome.code == 0, outcome.stderr
    assert bucket.segments() == []
    assert_all_there(make_machine, bucket)


def test_merged_segment_that_is_damaged_stays_if_an_object_is_not_right(merged_and_left, make_machine):
    bucket = merged_and_left
    segment, lost = bucket.segments()[0], bucket.keys("agent/objects/")[0]
    content = bucket.get(segment)
    bucket.put(segment, content[:-4])
    bucket.delete(lost)
    outcome = make_machine().run("merge", bucket.url())
    assert outcome.code == 5, outcome.stderr
    assert lost in outcome.stderr
    assert len(outcome.error_lines) == 1, outcome.stderr
    assert bucket.segments() == [segment]


def test_recorder_replaces_its_segment_that_the_store_has_damaged(machine, make_machine, bucket, proxy):
    """The answer to its upload was lost, and the bytes that the store kept are not those that were sent."""
    kill = KillAt(puts(r"/runs/.*/\d+\.\w+$"))
    proxy.rules.after.append(kill)
    recorder = machine.start_recorder(bucket.url(), "--run", "r", client=calls(count=3, pause=[2]))
    recorder.wait_for_pause()
    kill.wait_for_end_of(recorder)
    proxy.forget()
    segment = bucket.segments()[0]
    bucket.put(segment, bucket.get(segment)[:-4])
    outcome = machine.run("merge", bucket.url())
    assert outcome.code == 0, outcome.stderr
    assert_all_there(make_machine, bucket)


@pytest.mark.parametrize("how", ["a flipped bit", "truncated", "empty", "removed"])
def test_damaged_object_of_the_cache_does_not_fail_a_start(pushed, make_machine, how):
    other = make_machine()
    assert replay(other, pushed.path("agent.remote.json")).code == 0
    spoil_objects(other, how)
    shutil.rmtree(other.cache / "recordings")
    outcome = replay(other, pushed.path("agent.remote.json"))
    assert outcome.code == 0, outcome.stderr
    assert_right(outcome)
    assert "its bytes are damaged" not in outcome.stderr, outcome.stderr
