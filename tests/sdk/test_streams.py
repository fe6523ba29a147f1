"""Streams that are untidy, that fail in the middle, and that are cut."""


def test_chunks_and_endings_come_back_as_they_were(whole_loop):
    seen, _ = whole_loop("raw_streams.py")
    assert {scene: stream["end"] for scene, stream in seen.items()} == {
        "plain": "complete", "noisy": "complete", "fail midway": "complete",
        "hang up midway": "closed", "reset midway": "reset"}
    assert len(seen["hang up midway"]["chunks"]) == 4
    assert len(seen["reset midway"]["chunks"]) == 4
    assert seen["fail midway"]["chunks"][-1].startswith("event: error\n")
    noisy = seen["noisy"]["chunks"]
    assert noisy[:2] == [":", " welcom"]
    assert any(isinstance(chunk, dict) for chunk in noisy), "no chunk was cut inside a character"
    text = "".join(chunk for chunk in noisy if isinstance(chunk, str))
    for line in (":\r\n\r\n", "retry: 3000\n", "id: 0\n", ": keep-alive\r\n", "\r\n\r\n"):
        assert line in text


def test_openai_python_fails_alike_when_a_stream_breaks(whole_loop):
    seen, _ = whole_loop("openai_broken_streams.py")
    assert "failed" not in seen["be noisy"] and len(seen["be noisy"]["events"]) == 12
    failures = {scene: seen[scene]["failed"]["class"] for scene in seen if "failed" in seen[scene]}
    assert failures == {"fail midway": "APIError", "hang up midway": "RemoteProtocolError",
                        "reset midway": "ReadError"}
    assert all(len(seen[scene]["events"]) == 4 for scene in failures)
