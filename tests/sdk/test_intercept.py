"""Interception: SDKs without a base URL are recorded and replayed at the provider's own address."""

import json
import shutil
import subprocess

import pytest

import loop as ways

# The program, its variables for base URLs, and the host that it then calls.
SDKS = {
    "openai_ask.py": ["OPENAI_BASE_URL", "OPENAI_API_BASE"],
    "anthropic_ask.py": ["ANTHROPIC_BASE_URL", "ANTHROPIC_API_BASE"],
    "genai_ask.py": ["GOOGLE_GEMINI_BASE_URL", "GEMINI_API_BASE"],
}
INTERCEPTED = "--intercept"


def without(*variables):
    return [INTERCEPTED, *(f"--no-env={name}" for name in variables)]


def answered(outcome):
    assert outcome.code == 0, outcome.stderr
    assert outcome.document["text"] == "You said “hi” 🙂", outcome.document
    return outcome


@pytest.mark.parametrize(("program", "stream"), [
    ("openai_ask.py", ["--stream"]), ("anthropic_ask.py", []), ("genai_ask.py", []),
])
def test_sdk_at_the_providers_own_address_replays_either_way(program, stream, loomrec, upstream, tmp_path):
    line, direct = ways.command(program, *stream, "hi"), without(*SDKS[program])
    recordings = {}
    for name, flags in {"intercepted": direct, "based": []}.items():
        recordings[name] = tmp_path / f"{name}.json"
        recorded = answered(loomrec.record(recordings[name], upstream.url, line, *flags))
        assert (recorded.receipt["recorded"], recorded.receipt["escapes"]) == (1, [])
    keys = [[key for key in json.loads(path.read_text()) if key[0] != "_"] for path in recordings.values()]
    assert keys[0] == keys[1]
    upstream.go_dark()
    for recording in recordings.values():
        for flags in (direct, []):
            replayed = answered(loomrec.replay(recording, line, "--fail-unused", *flags))
            assert (replayed.receipt["served"], replayed.receipt["upstream_connections"]) == (1, 0)
    assert upstream.connections_in_the_dark == 0
    ways.assert_no_key_below(tmp_path)


def test_miss_is_the_typed_error_of_the_sdk(loomrec, upstream, tmp_path):
    recording, direct = tmp_path / "recording.json", without(*SDKS["openai_ask.py"])
    answered(loomrec.record(recording, upstream.url, ways.command("openai_ask.py", "hi"), *direct))
    missed = loomrec.replay(recording, ways.command("openai_ask.py", "other"), *direct)
    assert missed.document["failed"]["class"] == "UnprocessableEntityError"
    assert (missed.code, missed.receipt["missed"], missed.document["attempts"]) == (1, 1, 1)


@pytest.mark.parametrize("client", ["curl", "requests", "websockets"])
def test_other_clients_trust_the_authority(client, loomrec, upstream, tmp_path):
    url, body = "https://api.openai.com/v1/chat/completions", json.dumps(
        {"model": "gpt-4o-mini", "messages": [{"role": "user", "content": "hi"}]})
    programs = {
        "curl": ["curl", "-sS", "--fail-with-body", "-H", "content-type: application/json", "-d", body, url],
        "requests": ["python3", "-c", f"import requests; print(requests.post({url!r}, data={body!r}, "
                                      "headers={'content-type': 'application/json'}).text)"],
        # A handshake that nothing answers is a miss, which proves that it came.
        "websockets": ["python3", "-c", "import websockets.sync.client as c\ntry: c.connect("
                                        "'wss://api.openai.com/v1/realtime?model=x')\n"
                                        "except Exception as error: print(error)"],
    }
    if shutil.which(programs[client][0]) is None:
        pytest.skip(f"{programs[client][0]} is not installed")
    recording = tmp_path / "recording.json"
    if client == "websockets":
        answered(loomrec.record(recording, upstream.url, ways.command("openai_ask.py", "hi")))
        replayed = loomrec.replay(recording, programs[client], INTERCEPTED)
        assert replayed.receipt["missed"] == 1, replayed.stderr
        return
    recorded = loomrec.record(recording, upstream.url, programs[client], INTERCEPTED)
    assert "You said “hi” 🙂" in json.dumps(recorded.document, ensure_ascii=False), recorded.stderr
    upstream.go_dark()
    replayed = loomrec.replay(recording, programs[client], INTERCEPTED)
    assert (replayed.code, replayed.document) == (0, recorded.document)


def test_client_that_trusts_other_authorities_is_named(loomrec, upstream, tmp_path):
    recording = tmp_path / "recording.json"
    answered(loomrec.record(recording, upstream.url, ways.command("openai_ask.py", "hi")))
    line = ["python3", "-c", "import ssl, urllib.request\n"
                             "context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)\n"
                             "try: urllib.request.urlopen('https://api.openai.com/v1/models', context=context)\n"
                             "except OSError as error: print(error)"]
    replayed = loomrec.replay(recording, line, INTERCEPTED)
    assert (replayed.code, replayed.receipt["verdict"]) == (1, "failed")
    assert "its client does not accept loomrec's certificate: it does not know the authority" in replayed.stderr
    assert replayed.receipt["failed_tunnels"][0]["host"] == "api.openai.com"


def test_openssl_accepts_the_chain_strictly(loomrec, upstream, tmp_path):
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    recording = tmp_path / "recording.json"
    answered(loomrec.record(recording, upstream.url, ways.command("openai_ask.py", "hi")))
    line = ["sh", "-c", "printf Q | openssl s_client -proxy_user loomrec -proxy_pass env:PASSWORD "
                        "-proxy ${HTTPS_PROXY#*@} -connect api.openai.com:443 -x509_strict "
                        "-verify_return_error -verify_hostname api.openai.com -CAfile $NODE_EXTRA_CA_CERTS"]
    line[2] = "PASSWORD=$(echo $HTTPS_PROXY | sed 's/.*loomrec:\\(.*\\)@.*/\\1/'); export PASSWORD; " + line[2]
    ended = loomrec.replay(recording, line, INTERCEPTED, "--allow-empty")
    assert "Verify return code: 0 (ok)" in ended.stdout, ended.stdout + ended.stderr
    assert subprocess.run(["grep", "-rl", "PRIVATE KEY", str(tmp_path)], check=False).returncode == 1
