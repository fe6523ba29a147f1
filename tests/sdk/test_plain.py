"""Entries written by hand, of what was said alone: each SDK is answered in its own
provider's shape, complete and streamed, and reads the same words from it."""

import json

import pytest

import loop as ways
from conftest import assert_green

USAGE = {"prompt_tokens": 12, "completion_tokens": 7, "total_tokens": 19}
TEXT = "Take an umbrella – it will rain. 🌧️"
ARGUMENTS = {"city": "Paris", "days": 3, "in": {"unit": "°C"}}
HELD = {
    "_version": 2,
    "say": {"content": TEXT, "model": "model-1", "usage": USAGE, "finish_reason": "stop"},
    "call": {"content": "", "model": "model-1", "usage": USAGE, "finish_reason": "tool_calls",
             "tool_calls": [{"id": "call_1", "name": "get_weather", "arguments": ARGUMENTS}]},
}
# Whose address only their user knows: the variable is there before loomrec is.
AZURE = {"AZURE_OPENAI_ENDPOINT": "https://mine.openai.azure.test"}
AWS = {"AWS_ENDPOINT_URL_BEDROCK_RUNTIME": "https://bedrock-runtime.us-east-1.amazonaws.test"}


def sdk(program, *, said="stop", called="tool_calls", model="model-1", call_id="call_1", **variables):
    name = program.removesuffix("_turns.py").replace("_turns.mjs", "-node")
    return pytest.param(program, {"said": said, "called": called, "model": model, "id": call_id}, variables, id=name)


@pytest.fixture
def replayed(loomrec, tmp_path):
    """What a program saw of the entries above; nobody was called for it."""

    def run(program, **variables):
        recording = tmp_path / "by-hand.json"
        recording.write_text(json.dumps(HELD, ensure_ascii=False), encoding="utf-8")
        outcome = loomrec.replay(recording, ways.command(program, "--steps"), "--repeat", "last", **variables)
        assert outcome.code == 0, outcome.stderr
        assert_green(outcome)
        return outcome.document

    return run


def assert_words(seen, words):
    """Complete and streamed, the words are those of the entries."""
    for delivery in ("complete", "streamed"):
        said, called = seen[delivery]["say"], seen[delivery]["call"]
        assert said["text"] == TEXT and called["text"] == ""
        assert called["tool_calls"] == [[words["id"], "get_weather", ARGUMENTS]] and said["tool_calls"] == []
        assert (said["finish_reason"], called["finish_reason"]) == (words["said"], words["called"])
        assert said["usage"] == called["usage"] == [12, 7]
        assert said["model"] == called["model"] == words["model"]


@pytest.mark.parametrize(("program", "words", "variables"), [
    sdk("openai_turns.py"),
    sdk("node_turns.mjs"),
    sdk("responses_turns.py", said="completed", called="completed"),
    sdk("azure_turns.py", **AZURE),
    sdk("openrouter_turns.py"),
    sdk("groq_turns.py"),
    sdk("mistral_turns.py"),
    sdk("langchain_turns.py"),
    sdk("anthropic_turns.py", said="end_turn", called="tool_use"),
    sdk("anthropic_raw.py", said="end_turn", called="tool_use"),
    sdk("genai_turns.py", said="STOP", called="STOP"),
    sdk("genai_turns.mjs", said="STOP", called="STOP"),
    sdk("cohere_turns.py", said="COMPLETE", called="TOOL_CALL", model=None),
    sdk("ollama_turns.py", called="stop", call_id=""),
    sdk("bedrock_turns.py", said="end_turn", called="tool_use", model=None, **AWS),
])
def test_an_entry_by_hand_answers_in_both_deliveries(program, words, variables, replayed):
    assert_words(replayed(program, **variables), words)


def test_an_entry_by_hand_answers_whichever_model_the_ai_sdk_asks(replayed):
    seen = replayed("aisdk_turns.mjs")
    assert set(seen) == {"chat", "responses", "anthropic"}
    for model in seen.values():
        assert_words(model, {"said": "stop", "called": "tool-calls", "model": "model-1", "id": "call_1"})


def test_an_entry_by_hand_answers_whichever_provider_litellm_asks(replayed):
    seen = replayed("litellm_turns.py")
    assert set(seen) == {"openai", "anthropic", "gemini"}
    for name, provider in seen.items():
        identity = provider["complete"]["call"]["tool_calls"][0][0] if name == "gemini" else "call_1"
        assert_words(provider, {"said": "stop", "called": "tool_calls", "model": None, "id": identity})
