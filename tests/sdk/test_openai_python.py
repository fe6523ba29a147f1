"""openai-python: what it saw while recording it sees again on replay."""

import json

import loop as ways


def test_chat_is_replayed_when_complete(whole_loop):
    seen, _ = whole_loop("openai_chat.py")
    assert seen["object"]["choices"][0]["message"]["content"] == "You said “hello wörld” 🙂"
    assert json.loads(seen["bytes"])["id"] == seen["object"]["id"]
    assert seen["headers"]["x-request-id"].startswith("req_")


def test_chat_is_replayed_when_streamed(whole_loop):
    seen, recording = whole_loop("openai_chat_stream.py")
    said = "".join(e["choices"][0]["delta"]["content"] or "" for e in seen["events"] if e["choices"])
    assert said == "You said “stream me a greeting” 🙂"
    assert seen["events"][-1]["usage"]["total_tokens"] == 13
    assert seen["bytes"].endswith("data: [DONE]\n\n")
    if recording:
        assert [len(entry["response"]["chunks"]) for entry in ways.entries(recording)] == [11, 11]


def test_tool_calls_are_replayed_in_an_agent_loop(whole_loop):
    seen, recording = whole_loop("openai_tools.py")
    for said in (seen["complete"], seen["streamed"]):
        arguments = [json.loads(call["function"]["arguments"]) for call in said[0]["tool_calls"]]
        assert arguments == [{"city": "Paris", "unit": "celsius"}, {"city": "Oslo"}]
        assert said[1]["content"] == "It is 18 °C in Paris and −3 °C in Oslo. 🌦️"
    if recording:
        kept = [entry for entry in ways.entries(recording) if entry.get("tool_calls")]
        assert [len(entry["tool_calls"]) for entry in kept] == [2, 2]


def test_every_choice_is_replayed_when_two_were_asked_for(whole_loop):
    seen, _ = whole_loop("openai_n2.py")
    texts = [choice["message"]["content"] for choice in seen["complete"]["choices"]]
    assert texts == ["You said “two ideas, please” 🙂", "You said “two ideas, please” 🙂 (choice 1)"]
    streamed = ["", ""]
    for event in seen["events"]:
        for choice in event["choices"]:
            streamed[choice["index"]] += choice["delta"]["content"] or ""
    assert streamed == texts


def test_responses_are_replayed_when_complete_and_when_streamed(whole_loop):
    seen, _ = whole_loop("openai_responses.py")
    assert seen["text"] == "You said “hello responses” 🙂"
    assert seen["events"][0]["type"] == "response.created"
    assert seen["events"][-1]["type"] == "response.completed"
    deltas = [e["delta"] for e in seen["events"] if e["type"] == "response.output_text.delta"]
    assert "".join(deltas) == "You said “stream me responses” 🙂"


def test_embeddings_are_replayed_in_either_encoding(whole_loop):
    seen, _ = whole_loop("openai_embeddings.py")
    vectors = [item["embedding"] for item in seen["numbers"]["data"]]
    assert len(vectors) == 3 and all(len(vector) == 12 for vector in vectors)
    assert [item["embedding"] for item in seen["default"]["data"]] == vectors
    assert '"embedding":"' in seen["default_bytes"] and '"embedding":[' in seen["numbers_bytes"]


def test_a_retry_after_429_is_replayed_as_two_takes(whole_loop):
    seen, recording = whole_loop("openai_retry.py")
    assert [(a["status"], a["retry"]) for a in seen["attempts"]] == [(429, "0"), (200, "1")]
    assert seen["attempts"][0]["headers"]["retry-after"] == "1"
    assert seen["retries"] == 1
    if recording:
        assert [entry["response"]["status"] for entry in ways.entries(recording)] == [429, 200]


def test_audio_is_replayed_when_uploaded_and_when_fetched(whole_loop):
    seen, _ = whole_loop("openai_audio.py")
    assert seen["heard"]["text"].startswith("file=gruß.wav 8044 ")
    assert "prompt=names: Ada\r\n--x" in seen["heard"]["text"]
    assert set(seen["speech"]) == {"base64"}


def test_errors_and_other_calls_are_replayed(whole_loop):
    seen, _ = whole_loop("openai_other.py")
    assert [model["id"] for model in seen["models"]] == ["gpt-4o-mini", "text-embedding-3-small"]
    assert {status: error["failed"]["class"] for status, error in seen["errors"].items()} == {
        "400": "BadRequestError", "401": "AuthenticationError", "404": "NotFoundError",
        "429": "RateLimitError", "500": "InternalServerError", "503": "InternalServerError"}
    assert seen["compressed"]["headers"]["content-encoding"] == "gzip"
    assert "send it compressed" in seen["compressed"]["bytes"]


def test_many_calls_at_once_are_replayed(whole_loop):
    seen, _ = whole_loop("openai_async.py")
    assert seen["different"] == [f"You said “question {n}” 🙂" for n in range(20)]
    assert seen["same"] == sorted(f"Call {n}." for n in range(1, 9))
    assert seen["in_turn"] == ["Call 1.", "Call 2.", "Call 3."]


def test_a_key_that_the_upstream_repeats_is_kept_nowhere(loomrec, upstream, tmp_path):
    line = ways.command("openai_ask.py", "please repeat my key")
    recorded = loomrec.record(tmp_path / "recording.json", upstream.url, line)
    assert ways.KEYS["OPENAI_API_KEY"] in recorded.document["failed"]["message"]
    assert ways.entries(tmp_path / "recording.json")[0]["response"]["status"] == 401
    ways.assert_no_key_below(tmp_path, recorded.stderr)
    upstream.go_dark()
    replayed = loomrec.replay(tmp_path / "recording.json", line)
    assert replayed.document["failed"]["class"] == "AuthenticationError"
    ways.assert_no_key_below(tmp_path, replayed.stdout, replayed.stderr)
