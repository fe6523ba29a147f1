"""The same programs against aimock, an upstream that is not ours."""

import pytest

import loop as ways
from conftest import BARE, assert_green, stop


@pytest.fixture
def recorded_and_replayed(aimock, tmp_path, request):
    """What a program saw while it was recorded against aimock; the same on replay, with
    aimock gone. (Directly it sees other ids each time, so that is only run, not compared.)"""

    def run(program, *arguments):
        line = ways.command(program, *arguments)
        if BARE:
            bare = ways.direct(aimock.url, line, tmp_path)
            assert bare.code == 0, bare.stderr
            return bare.document
        loomrec = request.getfixturevalue("loomrec")
        recorded = loomrec.record(tmp_path / "recording.json", aimock.url, line)
        assert recorded.code == 0, recorded.stderr
        stop(aimock)
        replayed = loomrec.replay(tmp_path / "recording.json", line)
        assert replayed.code == 0, replayed.stderr
        assert replayed.document == recorded.document
        assert_green(replayed)
        ways.assert_no_key_below(tmp_path, recorded.stderr, replayed.stderr)
        return replayed.document

    return run


HELLO = "Hello from aimock, with an é and a 🙂."
STREAMED = "A streamed answer, in pieces, with an é and a 🙂."
WEATHER = "It is 18 °C in Paris. 🌦️"


def test_openai_chat(recorded_and_replayed):
    seen = recorded_and_replayed("openai_chat.py")
    assert seen["object"]["choices"][0]["message"]["content"] == HELLO


def test_openai_chat_streamed(recorded_and_replayed):
    seen = recorded_and_replayed("openai_chat_stream.py")
    pieces = [e["choices"][0]["delta"]["content"] or "" for e in seen["events"] if e["choices"]]
    assert "".join(pieces) == STREAMED and len(pieces) > 5


def test_openai_tool_calls(recorded_and_replayed):
    seen = recorded_and_replayed("openai_tools.py")
    for said in (seen["complete"], seen["streamed"]):
        assert said[0]["tool_calls"][0]["function"]["name"] == "get_weather"
        assert said[1]["content"] == WEATHER


def test_openai_responses(recorded_and_replayed):
    seen = recorded_and_replayed("openai_responses.py")
    assert seen["text"] == HELLO
    deltas = [e["delta"] for e in seen["events"] if e["type"] == "response.output_text.delta"]
    assert "".join(deltas) == STREAMED


def test_openai_embeddings(recorded_and_replayed):
    seen = recorded_and_replayed("openai_embeddings.py")
    assert seen["numbers"]["data"][0]["embedding"] == [0.25, -0.5, 0.125]
    assert seen["default"]["data"][0]["embedding"] == [0.25, -0.5, 0.125]


def test_anthropic_messages(recorded_and_replayed):
    seen = recorded_and_replayed("anthropic_messages.py")
    assert seen["object"]["content"][0]["text"] == HELLO
    deltas = [e["delta"]["text"] for e in seen["events"] if e["type"] == "content_block_delta"]
    assert "".join(deltas) == STREAMED
    assert seen["called"]["content"][-1]["name"] == "get_weather"
    assert seen["answered"]["content"][0]["text"] == WEATHER


@pytest.mark.parametrize("flags", [[], ["--stream"]], ids=["complete", "streamed"])
def test_google_genai(recorded_and_replayed, flags, monkeypatch):
    monkeypatch.setenv("GOOGLE_GENAI_API_VERSION", "v1beta")  # aimock does not know /v1
    assert recorded_and_replayed("genai_ask.py", *flags, "hello")["text"] == HELLO


@pytest.mark.parametrize("flags", [[], ["--stream"]], ids=["complete", "streamed"])
def test_openai_node(recorded_and_replayed, flags):
    assert recorded_and_replayed("node_ask.mjs", *flags, "hello")["text"] == HELLO
