"""Entries in packs: how many requests they take, and what becomes of packs and indexes that are damaged or lost."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import shutil
import zlib

import pytest

from machine import KillAt, calls, contents, entries, expected
from object_store import Bucket
from proxy import OldObjects, puts
from test_damage import DAMAGES, damage, spoil

#: Enough calls for a pack.
COUNT = 40
CALLS = calls(count=COUNT)
DAMAGED_PACKS = [how for how in DAMAGES if how != "other bytes"]


@pytest.fixture
def pushed(machine, bucket):
    """A machine that has pushed a recording of many calls, and has no cache any more."""
    assert machine.record("agent.json", client=CALLS).code == 0
    assert machine.run("push", "agent.json", bucket.url()).code == 0
    shutil.rmtree(machine.cache)
    return machine


def one(bucket, kind):
    [key] = bucket.keys(f"agent/{kind}/")
    return key


def members(content):
    """Returns the texts of a pack, with the place and the length of each."""
    found, at = [], 0
    while at < len(content):
        unpacker = zlib.decompressobj(wbits=31)
        text = unpacker.decompress(content[at:])
        length = len(content) - at - len(unpacker.unused_data)
        found.append((text, at, length))
        at += length
    return found


def flip_in_pack(bucket, key, text_part=b""):
    """Flips a bit in one entry of a pack. Returns the hash of the entry."""
    content = bytearray(bucket.get(key))
    text, at, length = next(member for member in members(bytes(content)) if text_part in member[0])
    content[at + length - 6] ^= 1  # in its checksum
    bucket.put(key, bytes(content))
    return hashlib.sha256(text).hexdigest()


def gets(proxy):
    return [request for request in proxy.requests if request.method == "GET" and request.key]


def assert_whole(make_machine, bucket, count=COUNT):
    assert contents(make_machine().pull(bucket.url())) == expected("call", range(count))
    outcome = make_machine().run("verify", "--deep", bucket.url())
    assert outcome.code == 0, outcome.stderr


def test_packs_and_index_are_as_documented(pushed, bucket):
    key = one(bucket, "packs")
    content = bucket.get(key)
    assert key == f"agent/packs/{hashlib.sha256(content).hexdigest()}"
    digest = bucket.manifest_hash()
    index = json.loads(gzip.decompress(bucket.get(f"agent/indexes/{digest}")))
    assert index["format"] == "loomrec-index/1"
    [pack] = index["packs"]
    assert (pack["pack"], pack["bytes"]) == (f"sha256:{key.rpartition('/')[2]}", len(content))
    found = [[f"sha256:{hashlib.sha256(text).hexdigest()}", at, length] for text, at, length in members(content)]
    assert pack["entries"] == found and len(found) == COUNT
    assert {take["object"] for take in bucket.manifest(digest)["takes"]} == {entry for entry, _, _ in found}
    assert bucket.keys("agent/objects/") == []


def test_merge_and_pull_take_few_requests(machine, make_machine, bucket, proxy):
    assert machine.record(bucket.url(), client=calls(count=300)).code == 0
    writes = [request for request in proxy.writes if request.method == "PUT"]
    assert len(writes) <= 20, [request.key for request in writes]
    proxy.forget()
    reader = make_machine()
    assert contents(reader.pull(bucket.url())) == expected("call", range(300))
    assert len(gets(proxy)) <= 8, [request.key for request in gets(proxy)]


def test_full_cache_of_packs_needs_no_request(pushed, make_machine, proxy):
    reader = make_machine()
    pointer = pushed.path("agent.remote.json")
    assert reader.replay(pointer, client=CALLS).code == 0
    assert not list(reader.cache.glob("objects/*/*")) and len(list(reader.cache.glob("packs/*"))) == 1
    shutil.rmtree(reader.cache / "recordings")
    proxy.forget()
    outcome = reader.replay(pointer, client=CALLS)
    assert outcome.code == 0, outcome.stderr
    assert proxy.requests == [] and outcome.remote[0]["offline"] is True


@pytest.mark.parametrize("how", ["a flipped bit", "truncated", "empty", "removed"])
@pytest.mark.parametrize("kind", ["packs", "indexes"])
def test_damaged_file_of_the_cache_is_fetched_again(pushed, make_machine, kind, how):
    reader = make_machine()
    pointer = pushed.path("agent.remote.json")
    assert reader.replay(pointer, client=CALLS).code == 0
    [path] = reader.cache.glob(f"{kind}/*")
    spoil(path, how)
    shutil.rmtree(reader.cache / "recordings")
    outcome = reader.replay(pointer, client=CALLS)
    assert outcome.code == 0, outcome.stderr
    assert {ack["prompt"]: ack["answer"] for ack in outcome.acks} == expected("call", range(COUNT))
    assert "its bytes are damaged" not in outcome.stderr


def test_pack_is_read_whole_once_for_a_few_entries(pushed, make_machine, bucket, proxy):
    reader = make_machine()
    reader.pull(bucket.url())
    # What is in the cache is found under its hash, wherever the store has it.
    [pack] = reader.cache.glob("packs/*")
    content = pack.read_bytes()
    for text, at, length in members(content)[:-2]:
        digest = hashlib.sha256(text).hexdigest()
        path = reader.cache / "objects" / digest[:2] / digest
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content[at:at + length])
    pack.unlink()
    shutil.rmtree(reader.cache / "recordings")
    proxy.forget()
    assert contents(reader.pull(bucket.url())) == expected("call", range(COUNT))
    [read] = [request for request in gets(proxy) if "/packs/" in request.key]
    assert "range" not in read.headers and pack.read_bytes() == content


@pytest.mark.parametrize("how", DAMAGED_PACKS)
def test_damaged_pack_is_named_and_repaired(pushed, make_machine, bucket, how):
    """A flipped bit damages one entry; the others are served from the same pack."""
    key = one(bucket, "packs")
    holder = make_machine()
    holder.pull(bucket.url())
    if how == "a flipped bit":
        lost = [flip_in_pack(bucket, key)]
    else:
        lost = [hashlib.sha256(text).hexdigest() for text, _, _ in members(bucket.get(key))][-3:]
        damage(bucket, key, how)
    reader = make_machine()
    outcome = reader.run("pull", bucket.url(), "-o", "pulled.json")
    assert outcome.code == 4 and not reader.path("pulled.json").exists(), outcome.stderr
    assert key in outcome.stderr and "agent/objects/" in outcome.stderr
    outcome = make_machine().run("verify", "--deep", bucket.url())
    assert outcome.code == 4 and key in outcome.stderr, outcome.stderr
    if how == "a flipped bit":
        assert lost[0] in outcome.stderr and "unusable: 1" in outcome.stderr
    else:
        assert make_machine().run("verify", bucket.url()).code == 4
    outcome = make_machine().run("verify", "--fix", bucket.url())
    assert outcome.code == 4, "nobody has the entry any more"
    outcome = holder.run("verify", "--fix", bucket.url())
    assert outcome.code == 0, outcome.stderr
    assert_whole(make_machine, bucket)
    index = json.loads(gzip.decompress(bucket.get(f"agent/indexes/{bucket.manifest_hash()}")))
    named = [entry for pack in index["packs"] for entry, _, _ in pack["entries"]]
    assert not {f"sha256:{digest}" for digest in lost} & set(named)


#: Where a compaction is killed: its packs are there, and its segments, too.
PLACES = {"manifest": puts("/manifests/"), "removal": lambda request: request.method in ("DELETE", "POST")}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("how", DAMAGED_PACKS)
def test_segment_mends_its_pack_before_it_is_removed(machine, make_machine, bucket, proxy, how, place):
    assert machine.record(bucket.url(), "--run", "r", client=CALLS).code == 0
    kill = KillAt(PLACES[place])
    proxy.rules.before.append(kill)
    kill.wait_for_end_of(make_machine().start("merge", bucket.url()))
    proxy.forget()
    for key in bucket.keys("agent/packs/"):
        damage(bucket, key, how)
    outcome = make_machine().run("merge", bucket.url())
    assert outcome.code == 0, outcome.stderr
    assert bucket.segments() == []
    assert_whole(make_machine, bucket)


@pytest.mark.parametrize("how", ["deleted", "empty", "truncated", "not gzip"])
@pytest.mark.parametrize("command", ["push", "push --fix"])
def test_push_restores_a_pack(pushed, make_machine, bucket, how, command):
    damage(bucket, one(bucket, "packs"), how)
    outcome = pushed.run(*command.split(), "agent.json")
    assert outcome.code == 0, outcome.stderr
    assert_whole(make_machine, bucket)


@pytest.mark.parametrize("how", ["deleted", "empty", "truncated", "a flipped bit", "not gzip"])
def test_lost_index_is_made_again_from_the_packs(pushed, make_machine, bucket, how):
    key = one(bucket, "indexes")
    damage(bucket, key, how)
    outcome = make_machine().run("pull", bucket.url())
    assert outcome.code == 4, outcome.stderr
    assert how == "deleted" or key in outcome.stderr
    before = bucket.contents()
    assert make_machine().run("verify", bucket.url()).code == 4
    outcome = make_machine().run("gc", bucket.url(), "--apply", "--keep", "0d")
    assert outcome.code == 4 and bucket.contents() == before, outcome.stderr
    outcome = make_machine().run("verify", "--fix", bucket.url())
    assert outcome.code == 0, outcome.stderr
    assert bucket.keys("agent/objects/") == []
    assert_whole(make_machine, bucket)


def test_packs_are_kept_while_an_index_is_lost(pushed, make_machine, bucket, proxy):
    bucket.delete(one(bucket, "indexes"))
    proxy.rules.change.append(OldObjects(bucket.keys()))
    outcome = make_machine().run("gc", bucket.url(), "--apply", "--keep", "0d")
    assert outcome.code == 4 and "agent/objects/" in outcome.stderr, outcome.stderr
    assert make_machine().run("verify", "--fix", bucket.url()).code == 0
    assert_whole(make_machine, bucket)


@pytest.mark.parametrize("pack", [{"bytes": 1 << 40}, {"bytes": 10}, {"pack": "sha256:../../x"}],
                         ids=["too large", "too small", "climbing"])
def test_index_of_a_stranger_is_named(pushed, make_machine, bucket, pack):
    key = one(bucket, "indexes")
    index = json.loads(gzip.decompress(bucket.get(key)))
    index["packs"][0] |= pack
    bucket.put(key, gzip.compress(json.dumps(index).encode()))
    outcome = make_machine().run("pull", bucket.url())
    assert outcome.code == 4 and key in outcome.stderr, outcome.stderr
    outcome = make_machine().run("verify", "--fix", bucket.url())
    assert outcome.code == 0, outcome.stderr
    assert_whole(make_machine, bucket)


def test_purge_takes_a_leaked_secret_out_of_a_pack(machine, make_machine, bucket):
    secret = b"geheim-7391"
    url = bucket.url()
    assert machine.record("agent.json", client=CALLS).code == 0
    assert machine.record("agent.json", client=calls(secret.decode(), 2)).code == 0
    assert machine.run("push", "agent.json", url).code == 0
    assert machine.run("pull", url, "-o", "old.json").code == 0
    assert machine.run("redact", "agent.json", "--redact", secret.decode(), "--apply").code == 0
    assert machine.run("push", "agent.json", url).code == 0
    state = bucket.manifest_hash()

    def leaks(files):
        return [name for name, content in files.items()
                if secret in content or content[:2] == b"\x1f\x8b" and secret in gzip.decompress(content)]

    def cached():
        return {str(path): path.read_bytes() for path in machine.cache.rglob("*") if path.is_file()}

    assert leaks(bucket.contents()) and leaks(cached())
    before = bucket.contents()
    shown = machine.run("gc", url, "--purge")
    assert shown.code == 0 and "packs that are written again without it: 1" in shown.stderr, shown.stderr
    assert bucket.contents() == before
    outcome = machine.run("gc", url, "--purge", "--apply")
    assert outcome.code == 0, outcome.stderr
    assert leaks(bucket.contents()) == [] and leaks(cached()) == []
    assert bucket.manifest_hash() == state
    # What pins the newest state still holds.
    assert len(entries(make_machine().pull(machine.path("agent.remote.json")))) == COUNT + 2
    assert make_machine().run("verify", "--deep", url).code == 0


def unpack_state(bucket):
    """Stores the newest state as earlier versions did: each entry is an object."""
    for text, at, length in members(content := bucket.get(one(bucket, "packs"))):
        digest = hashlib.sha256(text).hexdigest()
        bucket.put(f"agent/objects/{digest[:2]}/{digest}", content[at:at + length])
    for key in bucket.keys("agent/packs/") + bucket.keys("agent/indexes/"):
        bucket.delete(key)


@pytest.mark.parametrize("how", ["push", "record"])
def test_state_of_an_earlier_version_is_read_and_changed(machine, make_machine, bucket, how):
    count = 100
    assert machine.record("agent.json", client=calls(count=count)).code == 0
    assert machine.run("push", "agent.json", bucket.url()).code == 0
    unpack_state(bucket)
    pinned = bucket.manifest_hash()
    assert_whole(make_machine, bucket, count)
    if how == "push":
        assert machine.record("agent.json", client=calls(count=3, first=count)).code == 0
        assert machine.run("push", "agent.json").code == 0
    else:
        assert machine.record(bucket.url(), client=calls(count=3, first=count)).code == 0
    # Too many small objects are packed.
    assert len(bucket.keys("agent/packs/")) == 1
    assert_whole(make_machine, bucket, count + 3)
    old = make_machine().pull(f"{bucket.url()}@sha256:{pinned}")
    assert contents(old) == expected("call", range(count))


def test_gc_removes_packs_that_no_state_needs(machine, make_machine, bucket, proxy, upstream):
    for upstream.edition in (1, 2):
        assert machine.record("agent.json", client=CALLS).code == 0
        assert machine.run("push", "agent.json", bucket.url()).code == 0
    assert len(bucket.keys("agent/packs/")) == len(bucket.keys("agent/indexes/")) == 2
    assert machine.run("gc", bucket.url(), "--apply", "--keep", "0d").code == 0
    assert len(bucket.keys("agent/packs/")) == 2, "young ones stay"
    proxy.rules.change.append(OldObjects(bucket.keys()))
    assert machine.run("gc", bucket.url(), "--apply", "--keep", "0d").code == 0
    assert len(bucket.keys("agent/packs/")) == len(bucket.keys("agent/indexes/")) == 1
    assert contents(make_machine().pull(bucket.url())) == expected("call", range(COUNT), 2)
    outcome = machine.run("ls", "--json", f"s3://{bucket.name}/")
    assert json.loads(outcome.stdout)[0]["objects"] == 1


def test_segments_that_are_not_merged_are_downloaded_once(machine, make_machine, bucket, proxy):
    assert machine.record(bucket.url(), "--run", "r").code == 0
    reader = make_machine()
    [segment] = bucket.segments()
    assert re.fullmatch(r"agent/runs/[^/]+/000001\.[0-9a-f]{64}", segment)
    for _ in range(2):
        assert contents(reader.pull(bucket.url())) == expected("call", range(3))
    # A job with a copy of the cache that somebody has damaged.
    [kept] = reader.cache.glob("segments/*/*")
    spoil(kept, "a flipped bit")
    assert contents(reader.pull(bucket.url())) == expected("call", range(3))
    assert sum(request.key == segment for request in gets(proxy)) == 2
    assert reader.run("merge", bucket.url()).code == 0
    assert list(reader.cache.glob("segments/*/*")) == []


def test_segment_of_an_earlier_version_is_merged(machine, make_machine, bucket):
    assert machine.record(bucket.url(), "--run", "r").code == 0
    [segment] = bucket.segments()
    bucket.put(segment.partition(".")[0], bucket.get(segment))
    bucket.delete(segment)
    outcome = make_machine().run("merge", bucket.url())
    assert outcome.code == 0 and bucket.segments() == [], outcome.stderr
    assert contents(make_machine().pull(bucket.url())) == expected("call", range(3))


def test_two_segments_of_one_number_are_named(machine, make_machine, bucket):
    assert machine.record(bucket.url(), "--run", "r").code == 0
    [segment] = bucket.segments()
    other = f"{segment.partition('.')[0]}.{'ab' * 32}"
    bucket.put(other, bucket.get(segment))
    for line in (["merge", bucket.url()], ["pull", bucket.url()]):
        outcome = make_machine().run(*line)
        assert outcome.code in (4, 5) and segment in outcome.stderr and other in outcome.stderr, outcome.stderr
    assert sorted(bucket.segments()) == sorted([segment, other])


def test_packs_on_a_real_store(seaweedfs, make_machine):
    bucket = Bucket(seaweedfs.port, "loomrec-packs")
    endpoint = f"http://127.0.0.1:{seaweedfs.port}"
    machine = make_machine(endpoint=endpoint)
    assert machine.record(bucket.url(), client=CALLS).code == 0
    assert machine.run("pull", bucket.url(), "-o", "agent.json").code == 0
    key = one(bucket, "packs")
    flip_in_pack(bucket, key)
    reader = make_machine(endpoint=endpoint)
    assert reader.run("pull", bucket.url()).code == 4
    assert machine.run("verify", "--fix", bucket.url()).code == 0
    assert contents(reader.pull(bucket.url())) == expected("call", range(COUNT))
    bucket.delete(key)
    assert reader.run("verify", bucket.url()).code == 4
    assert machine.run("push", "--fix", "agent.json", bucket.url()).code == 0
    assert contents(make_machine(endpoint=endpoint).pull(bucket.url())) == expected("call", range(COUNT))


@pytest.mark.parametrize("kind", ["packs", "indexes"])
def test_compact_gc_and_record_name_what_the_store_has_lost(pushed, make_machine, bucket, kind):
    bucket.delete(one(bucket, kind))
    before = set(bucket.keys("agent/"))
    for command in (["merge"], ["gc", "--apply"]):
        outcome = make_machine().run(*command, bucket.url())
        assert outcome.code == 4, (command, outcome.stderr)
        assert "agent/objects/" in outcome.stderr and "verify --fix" in outcome.stderr
    assert set(bucket.keys("agent/")) == before
    outcome = make_machine().run("gc", "--purge", "--apply", bucket.url())
    assert outcome.code in (4, 5) and "agent/objects/" in outcome.stderr, outcome.stderr
    assert set(bucket.keys("agent/")) == before
    outcome = make_machine().record(bucket.url(), client=calls("later"))
    assert outcome.code == 4 and "agent/objects/" in outcome.stderr, outcome.stderr
    assert bucket.segments() == []
    assert pushed.run("push", "--fix", "agent.json", bucket.url()).code == 0
    assert make_machine().run("merge", bucket.url()).code == 0
    both = {**expected("call", range(COUNT)), **expected("later", range(3))}
    assert contents(make_machine().pull(bucket.url())) == both
