"""A call that was not recorded: each SDK raises its own typed error, once, and it says why."""

import pytest

import loop as ways

# What each SDK raises, and where its request differs.
CHAT, PARTS = "/messages/0/content", "/messages/0/content/0/text"
PYTHON = {
    "openai": ("UnprocessableEntityError", CHAT),
    "openai responses": ("UnprocessableEntityError", "/input"),
    "azure": ("UnprocessableEntityError", CHAT),
    "openrouter": ("UnprocessableEntityError", CHAT),
    "anthropic": ("UnprocessableEntityError", CHAT),
    "google-genai": ("ClientError", "/contents/0/parts/0/text"),
    "mistralai": ("HTTPValidationError", CHAT),
    "cohere": ("UnprocessableEntityError", CHAT),
    "ollama": ("ResponseError", CHAT),
    "groq": ("UnprocessableEntityError", CHAT),
    "boto3": ("ClientError", PARTS),
    "langchain": ("UnprocessableEntityError", CHAT),
    "litellm openai": ("BadRequestError", CHAT),
    "litellm anthropic": ("BadRequestError", PARTS),
    "litellm gemini": ("BadRequestError", "/contents/0/parts/0/text"),
}
NODE = {
    "openai": ("UnprocessableEntityError", CHAT),
    "@google/genai": ("ApiError", "/contents/0/parts/0/text"),
    "ai chat": ("APICallError", CHAT),
    "ai responses": ("APICallError", "/input/0/content/0/text"),
    "ai anthropic": ("APICallError", PARTS),
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


@pytest.mark.parametrize(("program", "sdks"), [("every_sdk.py", PYTHON), ("every_sdk.mjs", NODE)])
def test_a_changed_prompt_raises_each_sdks_own_error_once(program, sdks, recorded, loomrec, upstream):
    recording = recorded(ways.command(program, "what is the capital of France?"))
    assert len(ways.entries(recording)) == 2 * len(sdks)
    replayed = loomrec.replay(recording, ways.command(program, "what is the capital of Norway?"))
    failures = {sdk: list(told.values()) for sdk, told in replayed.document.items()}
    assert all(all(told) for told in failures.values()), "a changed prompt was answered"
    raised = {sdk: [failed["class"] for failed in told] for sdk, told in failures.items()}
    assert raised == {sdk: [error] * 2 for sdk, (error, _) in sdks.items()}
    for sdk, (_, pointer) in sdks.items():
        for failed in failures[sdk]:
            assert failed["status"] in (422, None), f"{sdk}: {failed}"
            for told in ("RecordingMismatchError", pointer, "capital of France", "capital of Norway"):
                assert told in failed["message"], f"{sdk}: {failed}"
    assert replayed.receipt["missed"] == 2 * len(sdks), "an SDK tried again"
    assert replayed.code == 1, "the program swallowed the misses, loomrec must not"
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
