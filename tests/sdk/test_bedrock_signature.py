"""Bedrock by boto3: through interception its signature stays valid; by a base URL it is for another host."""

import pytest

import client_table
import loop as ways
from authority import server_context
from signed_upstream import HOST, SignedUpstream

ADDRESS = f"--upstream=bedrock=https://{HOST}"
DIRECT = "--direct"


def line(*words):
    return ways.command("clients.py", "boto3", *words)


@pytest.fixture
def aws(tmp_path_factory):
    folder = tmp_path_factory.mktemp("aws")
    upstream = SignedUpstream(context=server_context(folder, HOST))
    upstream.trust = {"HTTPS_PROXY": upstream.url, "SSL_CERT_FILE": str(folder / "authority.pem")}
    yield upstream
    upstream.close()


def test_signature_stays_valid_through_interception(loomrec, alone, aws, tmp_path):
    recording = tmp_path / "recording.json"
    recorded = loomrec.record(recording, aws.url, line("hi"), ADDRESS, "--intercept",
                              "--no-env=AWS_ENDPOINT_URL_BEDROCK_RUNTIME", **aws.trust)
    assert recorded.code == 0, recorded.stderr
    assert recorded.document["answers"] == [{"value": "You said “hi” 🙂"}], recorded.document
    assert (recorded.receipt["recorded"], recorded.receipt["escapes"]) == (1, [])
    assert aws.signed == [["accept-encoding", "content-type", "host", "x-amz-date"]]
    ways.assert_no_key_below(tmp_path, recorded.stderr)
    aws.go_dark()
    based = alone(recording, line("hi"), "--fail-unused")
    assert (based.code, based.document["answers"]) == (0, recorded.document["answers"]), based.stderr
    direct = alone(recording, line(DIRECT, "hi", "unknown", "refused"), "--intercept")
    (value, missed, refused), receipt = direct.document["answers"], direct.receipt
    assert value == recorded.document["answers"][0], direct.stderr
    assert (direct.code, receipt["served"], receipt["missed"]) == (1, 1, 1), direct.stderr
    assert [it["host"] for it in receipt["refused_hosts"]] == ["gateway.example"]
    client_table.check_row("boto3", recorded.document["version"], "in a replay: it signs for the host", "yes",
                           client_table.shown(missed["failed"]), client_table.shown(refused["failed"]))


def test_recording_by_base_url_is_replayed_by_interception(loomrec, alone, upstream, tmp_path):
    recording = tmp_path / "recording.json"
    recorded = loomrec.record(recording, upstream.url, line("hi"))
    assert (recorded.code, recorded.receipt["recorded"]) == (0, 1), recorded.stderr
    upstream.go_dark()
    replayed = alone(recording, line(DIRECT, "hi"), ADDRESS, "--intercept", "--fail-unused")
    assert (replayed.code, replayed.document) == (0, recorded.document), replayed.stderr


def test_signature_for_a_base_url_is_refused_by_the_host(loomrec, aws, tmp_path):
    recorded = loomrec.record(tmp_path / "recording.json", aws.url, line("hi"), ADDRESS, **aws.trust)
    failed = recorded.document["answers"][0]["failed"]
    assert failed["class"] == "ClientError" and "InvalidSignatureException" in failed["message"], failed
    assert aws.signed == [None]
