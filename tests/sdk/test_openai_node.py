"""openai-node: what it saw while recording it sees again on replay."""


def test_chat_is_replayed_when_complete_and_when_streamed(whole_loop):
    seen, _ = whole_loop("node_chat.mjs")
    assert seen["object"]["choices"][0]["message"]["content"] == "You said “hello node” 🙂"
    said = "".join(e["choices"][0]["delta"].get("content", "") for e in seen["events"] if e["choices"])
    assert said == "You said “stream me a node” 🙂"
    assert seen["bytes"].endswith("data: [DONE]\n\n")
    assert seen["helper"]["choices"][0]["message"]["content"] == "You said “help me stream” 🙂"
    assert {status: error["failed"]["class"] for status, error in seen["errors"].items()} == {
        "400": "BadRequestError", "429": "RateLimitError", "503": "InternalServerError"}
    failures = {scene: stream.get("failed", {}).get("code", "none") for scene, stream in seen["streams"].items()}
    assert failures == {"be noisy": "none", "fail midway": None,
                        "hang up midway": "UND_ERR_SOCKET", "reset midway": "ECONNRESET"}
    assert seen["streams"]["fail midway"]["failed"]["class"] == "APIError"
