"""anthropic-python: what it saw while recording it sees again on replay."""

import loop as ways


def test_messages_are_replayed_when_complete_and_when_streamed(whole_loop):
    seen, recording = whole_loop("anthropic_messages.py")
    assert seen["object"]["content"][0]["text"] == "You said “hello claude” 🙂"
    deltas = [e["delta"]["text"] for e in seen["events"] if e["type"] == "content_block_delta"]
    assert "".join(deltas) == "You said “stream me a claude” 🙂"
    assert seen["stream_bytes"].startswith("event: message_start\n")
    assert "event: ping\n" in seen["stream_bytes"]
    assert seen["called"]["content"][1]["input"] == {"city": "Paris", "unit": "celsius"}
    assert seen["answered"]["content"][0]["text"] == "It is 18 °C in Paris. 🌦️"
    if recording:
        assert {entry["provider"] for entry in ways.entries(recording)} == {"anthropic"}


def test_errors_are_replayed_before_and_inside_a_stream(whole_loop):
    seen, _ = whole_loop("anthropic_errors.py")
    assert {status: error["failed"]["class"] for status, error in seen["errors"].items()} == {
        "400": "BadRequestError", "401": "AuthenticationError", "404": "NotFoundError",
        "429": "RateLimitError", "500": "InternalServerError", "529": "OverloadedError"}
    failures = {scene: stream.get("failed", {}).get("class") for scene, stream in seen["streams"].items()}
    assert failures == {"be noisy": None, "fail midway": "APIStatusError",
                        "hang up midway": "RemoteProtocolError", "reset midway": "ReadError"}
    assert seen["busy_once"]["retries"] == 1


def test_results_of_a_batch_are_followed_through_loomrec(whole_loop):
    seen, _ = whole_loop("anthropic_batches.py")
    assert seen == {"status": "ended", "results": ["one", "two"]}
