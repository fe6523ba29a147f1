"""The store refuses, or cannot be reached: one clear line, before the command starts."""

from __future__ import annotations

import time
from dataclasses import dataclass

import pytest

from machine import calls
from object_store import Keys
from proxy import any_request, is_write, s3_error


@dataclass(frozen=True)
class Refusal:
    """What the store answers, and the words of which the message must have one."""

    status: int
    code: str
    message: str
    words: tuple[str, ...]


REFUSALS = [
    Refusal(403, "SignatureDoesNotMatch", "The request signature we calculated does not match the signature you "
            "provided. Check your key and signing method.", ("AWS_SECRET_ACCESS_KEY",)),
    Refusal(403, "InvalidAccessKeyId", "The AWS Access Key Id you provided does not exist in our records.",
            ("AWS_ACCESS_KEY_ID",)),
    Refusal(400, "ExpiredToken", "The provided token has expired.", ("expired",)),
    Refusal(403, "AccessDenied", "Access Denied", ("denied", "may not", "not allowed", "permission")),
    Refusal(404, "NoSuchBucket", "The specified bucket does not exist", ("bucket",)),
]


def commands(bucket):
    """Returns the commands that reach the store, without their names of recordings."""
    return {
        "replay": ["replay", "--strict", "-r", bucket.url()],
        "record": ["record", "-r", bucket.url()],
        "push": ["push", "agent.json", bucket.url()],
        "pull": ["pull", bucket.url(), "-o", "pulled.json"],
        "ls": ["ls", bucket.url()],
        "merge": ["merge", bucket.url()],
        "gc": ["gc", bucket.url()],
    }


NAMES = ["replay", "record", "push", "pull", "ls", "merge", "gc"]
#: Commands of which docs/remote.md does not say which code they end with if the store refuses.
WRITING = ["push", "merge", "gc"]


def run_refused(machine, bucket, name):
    """Runs a command that the store refuses. Checks that nothing has started, and what was said."""
    marker = machine.path("marker")
    line = commands(bucket)[name]
    if name in ("replay", "record"):
        line = [*line, "--", "touch", str(marker)]
    began = time.monotonic()
    outcome = machine.run(*line)
    assert time.monotonic() - began < 45
    assert not marker.exists()
    assert not machine.path("pulled.json").exists()
    assert not machine.path("agent.remote.json").exists()
    assert len(outcome.error_lines) == 1, outcome.stderr
    assert outcome.stdout == ""
    # No XML, no HTTP client's words for people to decode.
    for word in ("<?xml", "<Error>", "reqwest", "hyper", "Generic S3 error", "Error {", "error sending request"):
        assert word not in outcome.stderr
    return outcome


@pytest.fixture
def prepared(machine):
    assert machine.record("agent.json", client=calls(count=1)).code == 0
    return machine


@pytest.mark.parametrize("refusal", REFUSALS, ids=lambda refusal: refusal.code)
def test_store_that_refuses_everything(prepared, bucket, proxy, refusal):
    proxy.refuse(s3_error(refusal.status, refusal.code, refusal.message), any_request)
    for name in NAMES:
        outcome = run_refused(prepared, bucket, name)
        assert outcome.code == 4 or (outcome.code == 5 and name in WRITING), (name, outcome.stderr)
        assert any(word.lower() in outcome.stderr.lower() for word in refusal.words), (name, outcome.stderr)
    assert bucket.keys() == []


def test_bucket_that_does_not_exist(prepared, bucket):
    bucket.client.delete_bucket(Bucket=bucket.name)
    for name in NAMES:
        outcome = run_refused(prepared, bucket, name)
        assert outcome.code == 4 or (outcome.code == 5 and name in WRITING), (name, outcome.stderr)
        assert bucket.name in outcome.stderr


@pytest.mark.parametrize("name", NAMES)
def test_store_that_cannot_be_reached(prepared, bucket, proxy, name):
    proxy.stop()
    outcome = run_refused(prepared, bucket, name)
    assert outcome.code == 4 or (outcome.code == 5 and name in WRITING), outcome.stderr
    assert f"127.0.0.1:{proxy.port}" in outcome.stderr
    assert "AWS_ENDPOINT_URL" in outcome.stderr


def test_identity_that_may_only_read(prepared, bucket, proxy):
    proxy.refuse(s3_error(403, "AccessDenied", "Access Denied"), is_write)
    for name in ("record", "push"):
        outcome = run_refused(prepared, bucket, name)
        assert outcome.code == 5, outcome.stderr
    assert bucket.keys() == []


def test_identity_that_may_only_read_can_replay_and_list(prepared, make_machine, bucket, proxy):
    assert prepared.run("push", "agent.json", bucket.url()).code == 0
    assert prepared.record(bucket.url(), "--run", "r", client=calls("more")).code == 0
    proxy.refuse(s3_error(403, "AccessDenied", "Access Denied"), is_write)
    proxy.requests = []
    reader = make_machine()
    replayed = reader.replay(bucket.url(), client=calls("more"))
    assert replayed.code == 0, replayed.stderr
    for line in (["ls", bucket.url()], ["verify", bucket.url()], ["stats", bucket.url()], ["gc", bucket.url()]):
        outcome = reader.run(*line)
        assert outcome.code == 0, outcome.stderr
    assert proxy.writes == []
    before = bucket.contents()
    outcome = reader.run("merge", bucket.url())
    assert outcome.code == 5, outcome.stderr
    assert bucket.contents() == before


def test_without_credentials_it_is_said_which_are_missing(prepared, bucket):
    """Nobody answers where EC2 gives its roles."""
    prepared.identify(None)
    for name in ("record", "replay"):
        outcome = run_refused(prepared, bucket, name)
        assert outcome.code == 4, outcome.stderr
        assert "AWS_ACCESS_KEY_ID" in outcome.stderr
    assert bucket.keys() == []


def test_public_bucket_needs_no_credentials(prepared, make_machine, bucket, proxy):
    assert prepared.run("push", "agent.json", bucket.url()).code == 0
    bucket.publish()
    proxy.requests = []
    outcome = make_machine(keys=None).replay(bucket.url(), client=calls(count=1), AWS_SKIP_SIGNATURE="true")
    assert outcome.code == 0, outcome.stderr
    assert proxy.requests
    assert not any("authorization" in request.headers for request in proxy.requests)


def test_plain_http_needs_the_permission(prepared, bucket, proxy):
    del prepared.environment["AWS_ALLOW_HTTP"]
    outcome = run_refused(prepared, bucket, "replay")
    assert outcome.code in (2, 4), outcome.stderr
    assert "AWS_ALLOW_HTTP" in outcome.stderr
    assert proxy.requests == []


@pytest.mark.parametrize("status", [500, 503])
def test_store_that_fails_for_a_moment_is_asked_again(prepared, make_machine, bucket, proxy, status):
    assert prepared.run("push", "agent.json", bucket.url()).code == 0
    failures = iter(range(2))
    busy = s3_error(status, "SlowDown", "Please reduce your request rate.")
    proxy.refuse(busy, lambda _: next(failures, None) is not None)
    outcome = make_machine().replay(bucket.url(), client=calls(count=1))
    assert outcome.code == 0, outcome.stderr
    assert next(failures, None) is None


def test_refusal_says_no_secret(prepared, bucket, proxy):
    """A store may repeat what it was sent."""
    keys = Keys("AKIAREPEATED00000001", "s3cr3tOfTheStoreThatNobodyRepeats0000000")
    prepared.identify(keys)
    prepared.environment["AWS_SESSION_TOKEN"] = token = "sessi0nTokenOfTheStoreThatNobodyRepeats/+00=="
    proxy.refuse(s3_error(403, "InvalidToken", f"The token {token} of {keys.secret} is malformed"), any_request)
    for name in NAMES:
        outcome = prepared.run(*commands(bucket)[name])
        assert outcome.code in (4, 5), outcome.stderr
        assert token not in outcome.stderr and keys.secret not in outcome.stderr
