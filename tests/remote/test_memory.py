"""Objects of a stranger's bucket that unpack to very much cost no more memory than one of them at a time."""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import zlib

import pytest

#: What a command needs in any case, with room to spare.
BASE = 200 << 20


def put_text(bucket, kind, text):
    """Stores a text under its hash."""
    digest = hashlib.sha256(text).hexdigest()
    path = f"objects/{digest[:2]}/{digest}" if kind == "objects" else f"{kind}/{digest}"
    bucket.put(f"agent/{path}", gzip.compress(text, 1))
    return f"sha256:{digest}"


def put_state(bucket, about, takes):
    lines = ",\n".join(json.dumps(take) for take in takes)
    text = f'{{\n"format": "loomrec-manifest/1",\n"about": {about},\n"recorders": [],\n"takes": [\n{lines}\n]\n}}\n'
    manifest = put_text(bucket, "manifests", text.encode())
    bucket.put("agent/ref", json.dumps({"format": "loomrec-ref/1", "manifest": manifest, "generation": 1}).encode())


def pull(machine, bucket):
    """Returns the exit code, the messages, and the most memory in bytes that was in use."""
    running = machine.start("pull", bucket.url())
    messages = running.process.stderr.read()
    _, status, usage = os.wait4(running.process.pid, 0)
    running.process.returncode = code = os.waitstatus_to_exitcode(status)
    return code, messages, usage.ru_maxrss * 1024


def put_bomb(bucket, size, first):
    """Stores an object of zeros after a first byte, without its text in memory."""
    digest, packer, pieces = hashlib.sha256(), zlib.compressobj(1, wbits=31), []
    zeros = bytes(1 << 20)
    for piece in (first, zeros[1:], *[zeros] * ((size >> 20) - 1)):
        digest.update(piece)
        pieces.append(packer.compress(piece))
    name = digest.hexdigest()
    bucket.put(f"agent/objects/{name[:2]}/{name}", b"".join([*pieces, packer.flush()]))
    return {"name": name, "object": f"sha256:{name}", "bytes": size}


def test_large_objects_are_in_memory_one_at_a_time(machine, bucket):
    size = 256 << 20
    put_state(bucket, "{}", [put_bomb(bucket, size, bytes([number])) for number in range(1, 4)])
    code, messages, memory = pull(machine, bucket)
    assert code == 4, messages
    assert memory < size + BASE, memory


def test_object_larger_than_its_manifest_says_is_not_unpacked(machine, bucket):
    takes = [put_bomb(bucket, 256 << 20, bytes([number])) for number in range(1, 4)]
    put_state(bucket, "{}", [{**take, "bytes": 1000} for take in takes])
    code, messages, memory = pull(machine, bucket)
    assert code == 4, messages
    assert all(take["name"] in messages for take in takes)
    assert memory < BASE, memory


def test_what_a_manifest_says_of_its_recording_is_bounded(machine, bucket):
    about = '{"_x": [' + ",".join(["0"] * (20 << 20)) + "]}"
    put_state(bucket, about, [])
    code, messages, memory = pull(machine, bucket)
    assert code == 4, messages
    assert "about" in messages
    assert memory < len(about) * 3 + BASE, memory


@pytest.mark.parametrize("sizes", [[3 << 30, 3 << 30], [1 << 63, 1 << 63]], ids=["8 GiB", "overflow"])
def test_state_larger_than_a_recording_can_be_is_not_fetched(machine, bucket, proxy, sizes):
    put_state(bucket, "{}", [{"name": str(number), "object": "sha256:" + f"{number}" * 64, "bytes": size}
                             for number, size in enumerate(sizes)])
    code, messages, _ = pull(machine, bucket)
    assert code == 4, messages
    assert "the most is 4294967296" in messages
    assert not any("/objects/" in request.key for request in proxy.requests)
