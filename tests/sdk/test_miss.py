"""A call that was not recorded: each SDK raises its own typed error, once, and it says why."""

import pytest

import loop as ways

ASKS = {
    "openai-python": ("openai_ask.py", "UnprocessableEntityError", "/messages/0/content"),
    "anthropic-python": ("anthropic_ask.py", "UnprocessableEntityError", "/messages/0/content"),
    "google-genai": ("genai_ask.py", "ClientError", "/contents/0/parts/0/text"),
    "openai-node": ("node_ask.mjs", "UnprocessableEntityError", "/messages/0/content"),
}


@pytest.fixture
def recorded(loomrec, upstream, tmp_path):
    """Records a command, then puts out the upstream."""

    def record(line):
        outcome = loomrec.record(tmp_path / "recording.json", upstream.url, line)
        assert outcome.code == 0, outcome.stderr
        upstream.go_dark()
        return tmp_path / "recording.json"

    return record


@pytest.mark.parametrize("flags", [[], ["--stream"]], ids=["complete", "streamed"])
@pytest.mark.parametrize("sdk", ASKS)
def test_a_changed_prompt_raises_the_sdks_own_error(sdk, flags, recorded, loomrec, upstream):
    program, error, pointer = ASKS[sdk]
    recording = recorded(ways.command(program, *flags, "what is the capital of France?"))
    replayed = loomrec.replay(recording, ways.command(program, *flags, "what is the capital of Norway?"))
    failed = replayed.document["failed"]
    assert (failed["class"], failed["status"]) == (error, 422)
    for told in ("RecordingMismatchError", pointer, "capital of France", "capital of Norway"):
        assert told in failed["message"]
    assert replayed.document["attempts"] == 1, "the SDK tried again"
    assert replayed.code == 1, "the program swallowed the miss, loomrec must not"
    assert replayed.receipt["missed"] == 1
    assert replayed.receipt["upstream_connections"] == 0
    assert upstream.connections_in_the_dark == 0


def test_a_further_identical_call_is_exhausted(recorded, loomrec, upstream):
    once = ways.command("openai_ask.py", "only once")
    recording = recorded(once)
    twice = ["sh", "-c", '"$@" && "$@"', "sh", *once]
    replayed = loomrec.replay(recording, twice)
    failed = replayed.document["failed"]
    assert (failed["class"], failed["status"]) == ("UnprocessableEntityError", 422)
    assert "exhausted" in failed["message"]
    assert replayed.document["attempts"] == 1
    assert replayed.code == 1
    assert upstream.connections_in_the_dark == 0


def test_other_audio_is_a_miss(recorded, loomrec):
    recording = recorded(ways.command("openai_audio.py", "40"))
    replayed = loomrec.replay(recording, ways.command("openai_audio.py", "41"))
    assert replayed.code == 1
    assert "UnprocessableEntityError" in replayed.stderr
    assert "RecordingMismatchError" in replayed.stderr


def test_a_replay_that_served_nothing_is_not_green(recorded, loomrec):
    recording = recorded(ways.command("openai_ask.py", "hello"))
    assert loomrec.replay(recording, ["true"]).code == 1
    assert loomrec.replay(recording, ["true"], "--allow-empty").code == 0
