"""The SDKs' WebSockets: what they saw while recording they see again on replay, with the upstream
gone; a changed message is a miss that the SDK shows."""

import os

import pytest

import loop as ways
from authority import server_context
from conftest import assert_green
from socket_upstream import SocketUpstream


@pytest.fixture
def sockets():
    upstream = SocketUpstream()
    yield upstream
    upstream.close()


def node_line(program, *words):
    return ways.command(program, *words, node=ways.node(24))


def recorded_and_replayed(loomrec, sockets, recording, line, *flags, **variables):
    """Records, and replays without the upstream. Returns what the program saw."""
    recorded = loomrec.record(recording, sockets.url, line, *flags, **variables)
    assert recorded.code == 0, recorded.stderr
    sockets.close()
    replayed = loomrec.replay(recording, line, "--fail-unused", *flags, **variables)
    assert replayed.code == 0, replayed.stderr
    assert replayed.document == recorded.document, "replay differs from what was recorded"
    assert_green(replayed)
    ways.assert_no_key_below(recording.parent, recorded.stderr, replayed.stderr)
    return recorded.document


def missed(loomrec, recording, line, *flags, **variables):
    """Replays a program that has changed: the run fails, and the miss names the change."""
    replayed = loomrec.replay(recording, line, *flags, **variables)
    assert replayed.code == 1, replayed.stderr
    assert replayed.receipt["missed"] == 1, replayed.receipt
    return replayed.document, replayed.receipt["mismatches"][0]


def test_a_realtime_conversation_is_replayed(loomrec, sockets, tmp_path):
    recording = tmp_path / "recording.json"
    line = ways.command("openai_realtime.py", "Be brief.", "hello")
    seen = recorded_and_replayed(loomrec, sockets, recording, line)
    assert seen["events"][-2]["text"] == "You said hello 🙂"
    seen, miss = missed(loomrec, recording, ways.command("openai_realtime.py", "Be long.", "hello"))
    # The program sends on after the changed message: it gets the error event, or the close first.
    shown = str(seen)
    assert "recording_mismatch" in shown or "1008" in shown and "RecordingMismatchError" in shown, shown
    assert miss["nearest"]["differences"][0]["now"] == '"Be long."'


def test_a_realtime_conversation_of_node_is_replayed(loomrec, sockets, tmp_path):
    recording, flags = tmp_path / "recording.json", ["--intercept"]  # the SDK dials TLS whatever its base URL says
    line = node_line("openai_realtime.mjs", "Be brief.", "hello")
    seen = recorded_and_replayed(loomrec, sockets, recording, line, *flags)
    assert seen["events"][-2]["text"] == "You said hello 🙂" and seen["errors"] == []
    seen, miss = missed(loomrec, recording, node_line("openai_realtime.mjs", "Be long.", "hello"), *flags)
    assert [error["class"] for error in seen["errors"]] == ["OpenAIRealtimeError"], seen
    assert "recording_mismatch" in seen["errors"][0]["message"]
    assert seen["closed"]["code"] == 1008 and "RecordingMismatchError" in seen["closed"]["reason"]
    assert miss["nearest"]["differences"][0]["now"] == '"Be long."'


@pytest.mark.parametrize("line", [
    node_line("openai_realtime.mjs", "--global", "Be brief.", "hello"),
    ways.command("openai_realtime.py", "--azure", "Be brief.", "hello"),
], ids=["OpenAIRealtimeWebSocket", "AzureOpenAI"])
def test_a_realtime_client_that_insists_on_tls_is_replayed(loomrec, sockets, tmp_path, line):
    recording, flags = tmp_path / "recording.json", ["--intercept"]
    seen = recorded_and_replayed(loomrec, sockets, recording, line, *flags)
    assert seen["events"][-2]["text"] == "You said hello 🙂", seen
    seen, _ = missed(loomrec, recording, [*line[:-1], "other"], *flags)
    assert "mismatch" in str(seen).lower(), seen


def test_speech_of_elevenlabs_is_replayed(loomrec, sockets, tmp_path):
    recording, flags = tmp_path / "recording.json", ["--intercept"]  # the SDK dials TLS whatever its base URL says
    variables = {"PYTHONPATH": os.environ["LOOMREC_SDK_ELEVENLABS"]}
    to = f"--upstream=elevenlabs={sockets.url}"
    line = ways.command("elevenlabs_speech.py", "Good ", "morning.")
    seen = recorded_and_replayed(loomrec, sockets, recording, line, *flags, to, **variables)
    assert b"Good" in bytes.fromhex("".join(seen["audio"])), seen
    changed = ways.command("elevenlabs_speech.py", "Good ", "evening.")
    missed(loomrec, recording, changed, *flags, to, **variables)


def test_speech_is_replayed_however_it_is_cut_and_a_changed_sample_is_a_miss(loomrec, sockets, tmp_path):
    recording = tmp_path / "recording.json"
    seen = recorded_and_replayed(loomrec, sockets, recording, ways.command("openai_voice.py", "960,317,2400"))
    assert seen["events"][-2]["text"] == "You said 24000 bytes 🙂"
    assert sum(one.get("audio", {}).get("bytes", 0) for one in ways.entries(recording)[0]["messages"]) == 24000
    for packets in ["1200,55", "24000"]:
        again = loomrec.replay(recording, ways.command("openai_voice.py", packets), "--fail-unused")
        assert again.document == seen, packets
        assert_green(again)
    for packets in ["960,317,2400", "1200,55"]:
        changed, _ = missed(loomrec, recording, ways.command("openai_voice.py", packets, "6000"))
        assert "mismatch" in str(changed).lower()


def test_turns_of_the_responses_api_of_node_are_replayed(loomrec, sockets, tmp_path):
    recording = tmp_path / "recording.json"
    line = node_line("openai_responses_socket.mjs", "hello", "again", "fail")
    seen = recorded_and_replayed(loomrec, sockets, recording, line)
    *turns, failed = seen["turns"]
    assert [turn[-1]["type"] for turn in turns] == ["response.completed"] * 2
    assert failed[0]["failed"]["body"]["error"]["code"] == "bad"
    seen, miss = missed(loomrec, recording, node_line("openai_responses_socket.mjs", "hello", "other"))
    assert seen["turns"][0] == turns[0]
    assert "RecordingMismatchError" in seen["turns"][1][0]["failed"]["message"]
    assert miss["nearest"]["differences"][0]["pointer"] == "/input"


def test_turns_of_the_responses_api_are_replayed_over_either_transport(loomrec, sockets, tmp_path):
    recording = tmp_path / "recording.json"
    line = ways.command("openai_responses_socket.py", "hello", "again", "fail")
    seen = recorded_and_replayed(loomrec, sockets, recording, line)
    assert [turn[-1]["type"] for turn in seen["turns"]] == ["response.completed"] * 2 + ["error"]
    assert len(ways.entries(recording)) == 3
    streamed = loomrec.replay(recording, ways.command("openai_responses_stream.py", "hello", "again"))
    assert streamed.code == 0, streamed.stderr
    assert streamed.document["turns"] == seen["turns"][:2]
    seen, miss = missed(loomrec, recording, ways.command("openai_responses_socket.py", "hello", "other"))
    last = seen["turns"][-1][-1]
    assert (last["type"], last["status"]) == ("error", 422), last
    assert miss["nearest"]["differences"][0]["pointer"] == "/input"


def test_turns_recorded_over_http_are_replayed_over_a_socket(loomrec, upstream, tmp_path):
    recording = tmp_path / "recording.json"
    recorded = loomrec.record(recording, upstream.url, ways.command("openai_responses_stream.py", "hello"))
    assert recorded.code == 0, recorded.stderr
    upstream.go_dark()
    replayed = loomrec.replay(recording, ways.command("openai_responses_socket.py", "hello"))
    assert replayed.code == 0, replayed.stderr
    assert replayed.document == recorded.document


def test_a_live_conversation_is_replayed(loomrec, sockets, tmp_path):
    server_context(tmp_path)  # the SDK dials TLS whatever its base URL says
    pem = str(tmp_path / "server.pem")
    flags = ("--tls-cert", pem, "--tls-key", pem)
    trust = {"SSL_CERT_FILE": str(tmp_path / "authority.pem")}
    recording = tmp_path / "recording.json"
    line = ways.command("genai_live.py", "hello")
    seen = recorded_and_replayed(loomrec, sockets, recording, line, *flags, **trust)
    texts = [part["text"] for message in seen["messages"]
             for part in message.get("server_content", {}).get("model_turn", {}).get("parts", [])]
    assert "".join(texts) == "You said hello 🙂"
    seen, miss = missed(loomrec, recording, ways.command("genai_live.py", "other"), *flags, **trust)
    assert seen["failed"]["status"] == 1008 and "RecordingMismatchError" in seen["failed"]["message"]
    assert miss["nearest"]["differences"][0]["now"] == '"other"'


def test_a_live_conversation_of_node_is_replayed(loomrec, sockets, tmp_path):
    recording = tmp_path / "recording.json"
    seen = recorded_and_replayed(loomrec, sockets, recording, node_line("genai_live.mjs", "hello"))
    texts = [part["text"] for message in seen["messages"]
             for part in message.get("serverContent", {}).get("modelTurn", {}).get("parts", [])]
    assert "".join(texts) == "You said hello 🙂"
    seen, miss = missed(loomrec, recording, node_line("genai_live.mjs", "other"))
    assert seen["closed"]["code"] == 1008 and "RecordingMismatchError" in seen["closed"]["reason"]
    assert miss["nearest"]["differences"][0]["now"] == '"other"'


@pytest.mark.parametrize(("fault", "shown"), [
    ("stream_truncate:4;code=1011;reason=out of memory", ["ConnectionClosedError", "1011", "out of memory"]),
    ("stream_truncate:4", ["ConnectionClosedError", "no close frame"]),
    ("stream_garble:4", ["JSON"]),
])
def test_a_fault_of_a_realtime_conversation_is_shown_alike_in_each_run(loomrec, sockets, tmp_path, fault, shown):
    recording = tmp_path / "recording.json"
    line = ways.command("openai_realtime.py", "Be brief.", "hello")
    seen = recorded_and_replayed(loomrec, sockets, recording, line)
    for _ in range(2):
        replayed = loomrec.replay(recording, line, "--fault", f"{fault};times=1")
        assert replayed.code == 0, replayed.stderr
        assert replayed.receipt["faults"]["fired"] == 1, replayed.receipt
        failed = replayed.document["failed"]
        assert all(word in f"{failed['class']} {failed['message']}" for word in shown), failed
    assert loomrec.replay(recording, line).document == seen
