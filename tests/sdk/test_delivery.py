"""A streamed recording answers a complete request, and the reverse."""

import pytest

import loop as ways

MODES = {"complete": [], "streamed": ["--stream"]}


def both_ways():
    for program in ("openai_ask.py", "openai_responses_ask.py", "anthropic_ask.py"):
        for question in (["tell me something"], ["--tools", "weather please"]):
            if program == "openai_responses_ask.py" and len(question) > 1:
                continue  # the upstream's responses call no tools
            for kept, asked in (("complete", "streamed"), ("streamed", "complete")):
                name = f"{program[:-7]}-{'tools' if len(question) > 1 else 'text'}-{kept}-as-{asked}"
                yield pytest.param(program, question, kept, asked, id=name)


@pytest.mark.parametrize(("program", "question", "kept", "asked"), list(both_ways()))
def test_one_delivery_answers_the_other(program, question, kept, asked, upstream, tmp_path, request):
    record = ways.command(program, *MODES[kept], *question)
    replay = ways.command(program, *MODES[asked], *question)
    meant = ways.direct(upstream.url, record, tmp_path).document
    assert meant == ways.direct(upstream.url, replay, tmp_path).document, "the upstream itself differs"
    assert meant["finish_reason"] in ("stop", "completed", "end_turn", "tool_calls", "tool_use")
    assert bool(meant["tool_calls"]) == ("--tools" in question)

    loomrec = request.getfixturevalue("loomrec")
    recording = tmp_path / "recording.json"
    recorded = loomrec.record(recording, upstream.url, record)
    assert (recorded.code, recorded.document) == (0, meant), recorded.stderr
    upstream.go_dark()
    replayed = loomrec.replay(recording, replay)
    assert (replayed.code, replayed.document) == (0, meant), replayed.stderr
    assert upstream.connections_in_the_dark == 0
