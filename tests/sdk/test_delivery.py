"""A streamed recording answers a complete request, and the reverse."""

import pytest

import loop as ways
from conftest import assert_green

TURNS = ("openai_turns.py", "responses_turns.py", "azure_turns.py", "openrouter_turns.py", "groq_turns.py",
         "mistral_turns.py", "anthropic_turns.py", "anthropic_raw.py", "genai_turns.py", "genai_turns.mjs",
         "cohere_turns.py", "perplexity_turns.py", "ollama_turns.py", "bedrock_turns.py")


@pytest.mark.parametrize(("kept", "asked"), [("complete", "streamed"), ("streamed", "complete")])
@pytest.mark.parametrize("program", TURNS)
def test_one_delivery_answers_the_other(program, kept, asked, loomrec, upstream, tmp_path):
    recording = tmp_path / "recording.json"
    recorded = loomrec.record(recording, upstream.url, ways.command(program, kept))
    assert recorded.code == 0, recorded.stderr
    upstream.go_dark()
    replayed = loomrec.replay(recording, ways.command(program, asked))
    assert replayed.code == 0, replayed.stderr
    meant = {scene: told["meaning"] for scene, told in recorded.document[kept].items()}
    assert {scene: told["meaning"] for scene, told in replayed.document[asked].items()} == meant
    assert set(meant) == {"say", "call"} and meant["call"]["tool_calls"]
    assert_green(replayed, upstream)
