"""A streamed recording answers a complete request, and the reverse."""

import pytest

import loop as ways
from conftest import assert_green

MODES = {"complete": [], "streamed": ["--stream"]}


def both_ways():
    for program in ("openai_ask.py", "anthropic_ask.py"):
        for question in (["tell me something"], ["--tools", "weather please"]):
            for kept, asked in (("complete", "streamed"), ("streamed", "complete")):
                name = f"{program[:-7]}-{'tools' if len(question) > 1 else 'text'}-{kept}-as-{asked}"
                yield pytest.param(program, question, kept, asked, id=name)


@pytest.mark.parametrize(("program", "question", "kept", "asked"), list(both_ways()))
def test_one_delivery_answers_the_other(program, question, kept, asked, upstream, tmp_path, request):
    record = ways.command(program, *MODES[kept], *question)
    replay = ways.command(program, *MODES[asked], *question)
    meant = ways.direct(upstream.url, record, tmp_path).document
    assert meant == ways.direct(upstream.url, replay, tmp_path).document, "the upstream itself differs"
    assert meant["finish_reason"] in ("stop", "end_turn", "tool_calls", "tool_use")
    assert bool(meant["tool_calls"]) == ("--tools" in question)

    loomrec = request.getfixturevalue("loomrec")
    recording = tmp_path / "recording.json"
    recorded = loomrec.record(recording, upstream.url, record)
    assert (recorded.code, recorded.document) == (0, meant), recorded.stderr
    upstream.go_dark()
    replayed = loomrec.replay(recording, replay)
    assert (replayed.code, replayed.document) == (0, meant), replayed.stderr
    assert upstream.connections_in_the_dark == 0


TURNS = ("azure_turns.py", "openrouter_turns.py", "groq_turns.py", "mistral_turns.py", "responses_turns.py",
         "anthropic_raw.py", "genai_turns.py", "genai_turns.mjs", "cohere_turns.py", "ollama_turns.py",
         "bedrock_turns.py")


@pytest.mark.parametrize(("kept", "asked"), [("complete", "streamed"), ("streamed", "complete")])
@pytest.mark.parametrize("program", TURNS)
def test_one_delivery_answers_the_other_for_every_provider(program, kept, asked, loomrec, upstream, tmp_path):
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
