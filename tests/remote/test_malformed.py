"""Pointers, names and objects that are not what they should be: one clear error, and no panic."""

from __future__ import annotations

import gzip
import hashlib
import json

import pytest

from machine import calls

HASH = "sha256:" + "ab" * 32


def pointer(**members):
    good = {"format": "loomrec-pointer/1", "url": "s3://bucket/agent", "manifest": HASH, "takes": 1, "bytes": 2}
    return json.dumps({name: value for name, value in {**good, **members}.items() if value is not None})


POINTERS = {
    "empty": "",
    "no JSON": "{",
    "a list": "[]",
    "a number": "7",
    "null": "null",
    "deep": "[" * 100_000,
    "not UTF-8": b"\xff\xfe{}",
    "no format": pointer(format=None),
    "newer format": pointer(format="loomrec-pointer/2"),
    "other format": pointer(format="loomrec-ref/1"),
    "no url": pointer(url=None),
    "no manifest": pointer(manifest=None),
    "url is a number": pointer(url=7),
    "url of a web page": pointer(url="https://example.com/agent"),
    "url of a file": pointer(url="file:///etc/passwd"),
    "url of memory": pointer(url="memory:///agent"),
    "url without a bucket": pointer(url="s3:///agent"),
    "url without a name": pointer(url="s3://bucket/"),
    "url that climbs": pointer(url="s3://bucket/a/../../b"),
    "url with a password": pointer(url="s3://user:password@bucket/agent"),
    "url with a query": pointer(url="s3://bucket/agent?versionId=1"),
    "url with a state": pointer(url="s3://bucket/agent@v1"),
    "manifest without sha256": pointer(manifest="ab" * 32),
    "manifest too short": pointer(manifest="sha256:abcd"),
    "manifest in capitals": pointer(manifest="sha256:" + "AB" * 32),
    "manifest that climbs": pointer(manifest="sha256:../../../../etc/passwd"),
    "manifest is an object": pointer(manifest={}),
    "takes below zero": pointer(takes=-1),
    "takes is a text": pointer(takes="1"),
    "bytes beyond 64 bits": pointer(bytes=2**70),
    "member twice": pointer()[:-1] + ', "url": "s3://other/agent"}',
}


@pytest.mark.parametrize("kind", POINTERS)
def test_malformed_pointer(machine, proxy, kind):
    content = POINTERS[kind]
    path = machine.path("bad.remote.json")
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    outcome = machine.replay("bad.remote.json")
    assert outcome.code == 4, outcome.stderr
    assert not outcome.has_started
    assert len(outcome.error_lines) == 1, outcome.stderr
    assert "bad.remote.json" in outcome.stderr
    assert "password" not in outcome.stderr.replace("/etc/passwd", "")
    assert proxy.requests == []


def test_pointer_with_unknown_members_is_read(machine, bucket):
    """As in every other file of loomrec: a later version may add one."""
    assert machine.record("agent.json").code == 0
    assert machine.run("push", "agent.json", bucket.url()).code == 0
    path = machine.path("agent.remote.json")
    more = {**json.loads(path.read_bytes()), "comment": "ours", "more": [1]}
    path.write_text(json.dumps(more), encoding="utf-8")
    outcome = machine.replay("agent.remote.json")
    assert outcome.code == 0, outcome.stderr


NAMES = [
    "s3://", "s3:///", "s3://bucket", "s3://bucket/", "s3:///agent", "s3://bucket//agent", "s3://bucket/a//b",
    "s3://bucket/a/", "s3://bucket/../agent", "s3://bucket/a/../b", "s3://bucket/./a", "s3://bucket/a/..",
    "s3://bucket/a b", "s3://bucket/ä", "s3://bucket/a%2e%2e", "s3://bucket/a?b=c", "s3://bucket/a#b",
    "s3://bucket/a@", "s3://bucket/a@sha256:", "s3://bucket/a@sha256:zz", "s3://bucket/a@../b", "s3://bucket/a@b@c",
    "s3://user:word@bucket/a", "s3://bucket:80/a", "s3://bucket/a\\b", "s3://bucket/a\nb", "gs://", "az://",
    "gs://bucket", "S3://", "file:///tmp/agent", "memory:///agent", "http://127.0.0.1:1/agent", "ftp://bucket/agent",
]


#: What `ls` lists the recordings of.
BUCKETS = ["s3://bucket", "s3://bucket/", "s3://bucket/a/", "gs://bucket"]


@pytest.mark.parametrize("command", ["ls", "replay", "record"])
def test_malformed_name(machine, proxy, command):
    for name in NAMES:
        if command == "ls" and name in BUCKETS:
            continue
        line = ["ls", name] if command == "ls" else [command, "-r", name, "--", "touch", "marker"]
        outcome = machine.run(*line)
        assert outcome.code == 2, (line, outcome.code, outcome.stderr)
        assert "word" not in outcome.stderr
    assert list(machine.work.iterdir()) == []
    assert proxy.requests == []


def test_malformed_url_of_a_command(machine, proxy):
    assert machine.record("agent.json", client=calls(count=1)).code == 0
    for name in ("s3://bucket", "s3://bucket/a/../b", "s3://bucket/a@sha256:12", "https://bucket/a", "agent"):
        for line in (["push", "agent.json", name], ["merge", name], ["gc", name]):
            outcome = machine.run(*line)
            assert outcome.code == 2, (line, outcome.stderr)
    for line in (["push", "agent.json", "s3://bucket/a@" + HASH], ["push", "agent.json", "@v1"],
                 ["gc", "s3://bucket/a@" + HASH], ["gc", "s3://bucket/a@v1"]):
        outcome = machine.run(*line)
        assert outcome.code == 2, (line, outcome.stderr)
    assert proxy.requests == []
    assert not machine.path("agent.remote.json").exists()


def test_malformed_tag(machine, bucket):
    assert machine.record("agent.json", client=calls(count=1)).code == 0
    for tag in ("", "a/b", "..", "sha256:" + "ab" * 32, "a b", "a@b", "ä", "x" * 300):
        outcome = machine.run("push", "agent.json", f"{bucket.url()}@{tag}")
        assert outcome.code == 2, (tag, outcome.code, outcome.stderr)
    assert bucket.keys() == []


REFS = {
    "empty": b"",
    "no JSON": b"{",
    "null": b"null",
    "newer format": json.dumps({"format": "loomrec-ref/2", "manifest": HASH, "generation": 1}).encode(),
    "no manifest": b'{"format": "loomrec-ref/1", "generation": 1}',
    "manifest that climbs": b'{"format": "loomrec-ref/1", "manifest": "sha256:../x", "generation": 1}',
    "generation is a text": json.dumps({"format": "loomrec-ref/1", "manifest": HASH, "generation": "1"}).encode(),
    "a megabyte": b" " * 2_000_000,
}


@pytest.mark.parametrize("kind", REFS)
def test_malformed_ref(machine, bucket, kind):
    bucket.put("agent/ref", REFS[kind])
    marker = machine.path("marker")
    for line in (["replay", "-r", bucket.url(), "--", "touch", str(marker)], ["ls", bucket.url()],
                 ["record", "-r", bucket.url(), "--", "touch", str(marker)], ["merge", bucket.url()],
                 ["gc", bucket.url(), "--apply"]):
        outcome = machine.run(*line)
        assert outcome.code in (4, 5), (line, outcome.code, outcome.stderr)
        assert not marker.exists()
        assert "ref" in outcome.stderr
        assert len(outcome.error_lines) == 1, outcome.stderr
    assert bucket.contents() == {"agent/ref": REFS[kind]}


def manifest(**members):
    good = {"format": "loomrec-manifest/1", "about": {"_version": 2}, "recorders": [], "takes": []}
    return json.dumps({name: value for name, value in {**good, **members}.items() if value is not None})


def take(**members):
    return {"name": "ab" * 32, "object": HASH, "bytes": 10, **members}


MANIFESTS = {
    "no JSON": "{",
    "null": "null",
    "newer format": manifest(format="loomrec-manifest/2"),
    "no format": manifest(format=None),
    "no takes": manifest(takes=None),
    "takes is an object": manifest(takes={}),
    "take is a number": manifest(takes=[1]),
    "object that climbs": manifest(takes=[take(object="sha256:../../x")]),
    "object is missing": manifest(takes=[take(object=None)]),
    "bytes below zero": manifest(takes=[take(bytes=-1)]),
    "bytes beyond all": manifest(takes=[take(bytes=2**63)]),
    "recorder that is not listed": manifest(takes=[take(recorder=7)]),
    "recorder below zero": manifest(takes=[take(recorder=-1)]),
    "about is a list": manifest(about=[]),
    "about of a newer version": manifest(about={"_version": 2, "_loomrec": {"format": "9.0"}}),
    "not UTF-8": b'{"format": "loomrec-manifest/1\xff"}',
    "deep": "[" * 100_000,
    "object that is not there": manifest(takes=[take()]),
}


@pytest.mark.parametrize("kind", MANIFESTS)
def test_malformed_manifest(machine, bucket, kind):
    content = MANIFESTS[kind]
    text = content if isinstance(content, bytes) else content.encode()
    digest = hashlib.sha256(text).hexdigest()
    bucket.put(f"agent/manifests/{digest}", gzip.compress(text))
    ref = {"format": "loomrec-ref/1", "manifest": f"sha256:{digest}", "generation": 1}
    bucket.put("agent/ref", json.dumps(ref).encode())
    before = bucket.contents()
    for name in (bucket.url(), f"{bucket.url()}@sha256:{digest}"):
        outcome = machine.replay(name)
        assert outcome.code == 4, outcome.stderr
        assert not outcome.has_started
        assert len(outcome.error_lines) == 1, outcome.stderr
    assert bucket.contents() == before


FOLDER = "agent/runs/20260101000000-0123456789abcdef"
SEGMENTS = {
    "junk": {f"{FOLDER}/000001": b"junk" * 100},
    "empty": {f"{FOLDER}/000001": b""},
    "a bad recorder.json": {f"{FOLDER}/recorder.json": b"{", f"{FOLDER}/000001": b"x"},
    "strange names": {"agent/runs/../x/000001": b"x", "agent/runs/ä/zzz": b"y", "agent/runs/0/-1": b"z"},
}


@pytest.mark.parametrize("kind", SEGMENTS)
def test_malformed_segment_is_named_and_kept(machine, bucket, kind):
    assert machine.record("agent.json").code == 0
    assert machine.run("push", "agent.json", bucket.url()).code == 0
    for key, content in SEGMENTS[kind].items():
        bucket.put(key, content)
    for line in (["merge", bucket.url()], ["ls", bucket.url()], ["gc", bucket.url(), "--apply"]):
        machine.run(*line)  # a panic fails here
    after = bucket.contents()
    assert all(after.get(key) == content for key, content in SEGMENTS[kind].items() if content)
    pinned = json.loads(machine.path("agent.remote.json").read_bytes())["manifest"]
    assert machine.replay(f"{bucket.url()}@{pinned}").code == 0
