"""Bedrock by boto3: through interception its signature stays valid; by a base URL it is made again."""

import json
import os

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
    client_table.check_row("boto3", recorded.document["version"], "yes", "yes",
                           client_table.shown(missed["failed"]), client_table.shown(refused["failed"]))


def test_recording_by_base_url_is_replayed_by_interception(loomrec, alone, upstream, tmp_path):
    recording = tmp_path / "recording.json"
    recorded = loomrec.record(recording, upstream.url, line("hi"))
    assert (recorded.code, recorded.receipt["recorded"]) == (0, 1), recorded.stderr
    upstream.go_dark()
    replayed = alone(recording, line(DIRECT, "hi"), ADDRESS, "--intercept", "--fail-unused")
    assert (replayed.code, replayed.document) == (0, recorded.document), replayed.stderr


def keys_of_environment(_folder):
    return ways.KEYS


def keys_of_profile(folder):
    file = folder / "credentials"
    secret = ways.KEYS["AWS_SECRET_ACCESS_KEY"]
    file.write_text(f"[default]\naws_access_key_id = AKIDOTHER\naws_secret_access_key = x\n"
                    f"[work]\naws_access_key_id = {ways.KEYS['AWS_ACCESS_KEY_ID']}\naws_secret_access_key = {secret}\n")
    return {"AWS_SHARED_CREDENTIALS_FILE": str(file), "AWS_PROFILE": "work"}


def keys_of_command(folder):
    """Those of a session: boto3 and loomrec ask a program for them."""
    tool, config = folder / "aws", folder / "config"
    keys = {"Version": 1, "AccessKeyId": ways.KEYS["AWS_ACCESS_KEY_ID"], "SessionToken": "SESSION",
            "SecretAccessKey": ways.KEYS["AWS_SECRET_ACCESS_KEY"]}
    tool.write_text(f"#!/bin/sh\necho '{json.dumps(keys)}'\n")
    tool.chmod(0o755)
    config.write_text(f"[default]\ncredential_process = {tool}\n")
    return {"AWS_CONFIG_FILE": str(config), "PATH": f"{folder}:{os.environ['PATH']}"}


@pytest.mark.parametrize("keys", [keys_of_environment, keys_of_profile, keys_of_command])
def test_signature_for_a_base_url_is_made_again_for_the_host(loomrec, alone, aws, tmp_path, keys):
    kept, folder = tmp_path / "kept", tmp_path / "home"
    kept.mkdir()
    folder.mkdir()
    recording = kept / "recording.json"
    recorded = loomrec.run("record", recording, [ADDRESS], line("hi"), **keys(folder), **aws.trust)
    assert recorded.code == 0, recorded.stderr
    assert recorded.document["answers"] == [{"value": "You said “hi” 🙂"}], recorded.document
    (names,) = aws.signed
    assert {"content-type", "host", "x-amz-date"} <= set(names), names
    assert ("x-amz-security-token" in names) == (keys is keys_of_command)
    ways.assert_no_key_below(kept, recorded.stderr)
    aws.go_dark()
    replayed = alone(recording, line("hi"), "--fail-unused")
    assert (replayed.code, replayed.document) == (0, recorded.document), replayed.stderr


def test_region_of_the_call_is_its_address_where_none_is_given(loomrec, aws, tmp_path):
    led = ["sh", "-c", 'AWS_ENDPOINT_URL_BEDROCK_RUNTIME=$LOOMREC_URL/bedrock exec "$@"', "sh", *line("hi")]
    recorded = loomrec.run("record", tmp_path / "recording.json", [], led, **ways.KEYS, **aws.trust)
    assert recorded.code == 0 and all(aws.signed), recorded.stderr
    assert recorded.document["answers"] == [{"value": "You said “hi” 🙂"}], recorded.document


def test_client_for_node_is_reached_by_its_base_url_over_http2(loomrec, alone, aws, tmp_path):
    def asked(*words):
        return ways.command("clients.mjs", "@aws-sdk/client-bedrock-runtime", *words, node=ways.node(24))

    recording, said = tmp_path / "recording.json", "You said “hi” 🙂"
    recorded = loomrec.run("record", recording, [ADDRESS], asked("hi"), **ways.KEYS, **aws.trust)
    assert recorded.code == 0, recorded.stderr
    assert recorded.document["answers"] == [{"value": [said, said]}], recorded.document
    assert recorded.receipt["recorded"] == 2 and all(aws.signed), aws.signed
    past = loomrec.run("record", tmp_path / "past.json", [ADDRESS, "--intercept", "--allow-empty",
                       "--no-env=AWS_ENDPOINT_URL_BEDROCK_RUNTIME"], asked("hi"), **ways.KEYS, **aws.trust)
    assert "failed" in past.document["answers"][0] and len(aws.signed) == 2, past.document
    assert (past.receipt["recorded"], past.receipt["refused"]) == (0, 0), past.receipt
    aws.go_dark()
    replayed = alone(recording, asked("hi", "ho"), "--fail-unused",
                     AWS_ACCESS_KEY_ID="AKIDEXAMPLE", AWS_SECRET_ACCESS_KEY="secret")
    value, missed = replayed.document["answers"]
    assert value == recorded.document["answers"][0], replayed.stderr
    assert (replayed.code, replayed.receipt["served"], replayed.receipt["missed"]) == (1, 2, 1)
    client_table.check_row("@aws-sdk/client-bedrock-runtime, Node 24", recorded.document["version"], "yes, by HTTP/2",
                           "no: it connects past loomrec", client_table.shown(missed["failed"]), "–")


@pytest.mark.parametrize("own, says", [
    ("AWS_ACCESS_KEY_ID=AKIDELSEWHERE", "access key …HERE, and neither"),
    # Who does not have the secret gets nothing signed with it.
    ("AWS_SECRET_ACCESS_KEY=guessed", "is not the one that the program signs with"),
])
def test_call_that_cannot_be_signed_again_says_why(loomrec, aws, tmp_path, own, says):
    other = ["env", own, *line("hi")]
    recorded = loomrec.run("record", tmp_path / "recording.json", [ADDRESS], other, **ways.KEYS, **aws.trust)
    failed = recorded.document["answers"][0]["failed"]
    assert (recorded.code, aws.signed) == (6, []), recorded.stderr
    assert says in failed["message"], failed
