"""The credentials of the store are in no file, object or message, also if the program sends them."""

from __future__ import annotations

import base64
import gzip
import json
import zlib

import pytest

from machine import Machine, calls
from object_store import Keys

SECRET = "q7Vd0Kx+Store/Secret9canary2Bw8nZr4Tt6Yy1"
TOKEN = "FwoGZXIvYXdzEStoreToken/canary+5Hh3Jj7Ll9Pp1Rr0Ss2Uu4Ww6==" * 3
#: Keys of stores that are set and not used.
OTHERS = {"AZURE_STORAGE_ACCOUNT_KEY": "azure0Account/Key+canary7Cc3Dd9Ff2Gg5Kk==",
          "AZURE_STORAGE_SAS_TOKEN": "sv=2026-01-01&sig=azureSasToken0canary4Mm6Nn8Qq"}
NEEDLES = [form for text in (SECRET, TOKEN, *OTHERS.values()) for form in (text, text.replace("/", "\\/"))]

#: How compressed streams begin: gzip, and three levels of zlib.
BEGINNINGS = (b"\x1f\x8b\x08", b"\x78\x01", b"\x78\x9c", b"\x78\xda")


@pytest.fixture
def keeper(make_machine) -> Machine:
    machine = make_machine(keys=Keys("AKIALOOMRECCANARY001", SECRET))
    machine.environment |= {"AWS_SESSION_TOKEN": TOKEN, **OTHERS}
    return machine


def layers(content: bytes, depth: int = 3) -> list[bytes]:
    """Returns the content and what is compressed in it, wherever a compressed stream may begin."""
    found = [content]
    if depth == 0:
        return found
    starts = {0, *(at for mark in BEGINNINGS for at in positions(content, mark))}
    # In a frame of the log, the packed entry begins at byte 32.
    starts |= {at + 32 for at in positions(content, b"\x8bLR\n")}
    for at in starts:
        for bits in (-15, 15, 31):
            try:
                inner = zlib.decompressobj(bits).decompress(content[at:])
            except zlib.error:
                continue
            if len(inner) > 8:
                found += layers(inner, depth - 1)
    return found


def positions(content: bytes, mark: bytes) -> list[int]:
    at, found = content.find(mark), []
    while at >= 0:
        found.append(at)
        at = content.find(mark, at + 1)
    return found


def assert_clean(name: str, content: bytes) -> None:
    for layer in layers(content):
        for needle in NEEDLES:
            assert needle.encode() not in layer, f"{name} holds a credential of the store"
            assert base64.b64encode(needle.encode())[:24] not in layer, f"{name} holds a credential in base64"


def assert_clean_everywhere(machine: Machine, bucket, *messages: str) -> None:
    """Looks into the machine's folders, the bucket and messages."""
    for path in machine.folder.rglob("*"):
        if path.is_file() and not path.name.startswith("acks"):  # the program's own file
            assert_clean(str(path), path.read_bytes())
    for key, content in bucket.contents().items():
        assert_clean(key, content)
    for message in messages:
        assert_clean("a message", message.encode())


def test_layers_see_into_what_is_compressed():
    """This search finds what it is to find."""
    frame = b"\x8bLR\n" + bytes(28) + zlib.compress(SECRET.encode() * 9)
    for hidden in (frame, gzip.compress(b"x" * 99 + SECRET.encode()), b"junk" + gzip.compress(frame)):
        with pytest.raises(AssertionError):
            assert_clean("hidden", hidden)


LABELS = {"innocent": "innocent", "secret": f"the secret is {SECRET} and", "token": f"token={TOKEN}",
          "both": f"both: {SECRET} {TOKEN}", "others": " ".join(OTHERS.values())}


@pytest.mark.parametrize("stream", [(), ("--stream",)], ids=["whole", "stream"])
@pytest.mark.parametrize("label", LABELS.values(), ids=LABELS)
def test_recorded_run_holds_no_credential_of_the_store(keeper, bucket, upstream, label, stream):
    """A stream repeats the prompt in two pieces."""
    receipt, journal, summary = (keeper.path(name) for name in ("receipt.json", "journal.jsonl", "summary.md"))
    reports = ["--receipt", str(receipt), "--journal", str(journal), "--summary", str(summary)]
    recorder = keeper.start_recorder(bucket.url(), *reports, "-v", "--log", "debug", client=calls(label, 3, *stream))
    outcome = recorder.wait()
    assert outcome.code in (0, 5), outcome.stderr
    assert len(upstream.prompts) == 3
    # The program's traffic passes unchanged.
    assert [ack["prompt"] for ack in recorder.acks] == [f"{label} {number}" for number in range(3)]
    assert upstream.prompts == [ack["prompt"] for ack in recorder.acks]
    pulled = keeper.run("pull", bucket.url(), "-o", "pulled.json")
    shown = keeper.run("ls", bucket.url(), "--json")
    said = (each for outcome in (outcome, pulled, shown) for each in (outcome.stdout, outcome.stderr))
    assert_clean_everywhere(keeper, bucket, *said)
    if label == "innocent":
        assert outcome.code == 0
        assert json.loads(receipt.read_bytes())["recorded"] == 3


def test_killed_recorder_leaves_no_credential_of_the_store(keeper, bucket):
    recorder = keeper.start_recorder(bucket.url(), client=calls(f"key {SECRET} {TOKEN}", 4, pause=[3]))
    recorder.wait_for_pause()
    recorder.kill()
    assert len(recorder.acks) == 3
    assert any(path.is_file() for path in keeper.state.rglob("*"))
    assert_clean_everywhere(keeper, bucket)
    outcome = keeper.run("merge", bucket.url())
    assert_clean_everywhere(keeper, bucket, outcome.stderr)


def test_push_does_not_upload_a_credential_of_the_store(keeper, make_machine, bucket):
    """A file that was recorded without the credentials in the environment may hold them."""
    bare = make_machine(keys=None)
    assert bare.record("agent.json", client=calls(f"plain {SECRET}")).code == 0
    keeper.path("agent.json").write_bytes(bare.path("agent.json").read_bytes())
    outcome = keeper.run("push", "agent.json", bucket.url())
    keeper.path("agent.json").unlink()
    assert_clean_everywhere(keeper, bucket, outcome.stderr, outcome.stdout)


def test_replay_and_upkeep_hold_no_credential_of_the_store(keeper, bucket):
    assert keeper.record("agent.json").code == 0
    said = []
    for line in (["push", "agent.json", f"{bucket.url()}@t"], ["merge", bucket.url()],
                 ["gc", bucket.url(), "--apply"], ["verify", bucket.url()], ["doctor", "agent.remote.json"],
                 ["config", "record", "--all"]):
        outcome = keeper.run(*line)
        said += [outcome.stdout, outcome.stderr]
    replayed = keeper.replay(bucket.url(), "-v", "--log", "debug")
    assert replayed.code == 0, replayed.stderr
    assert_clean_everywhere(keeper, bucket, replayed.stderr, *said)
