"""google-genai: both verbs, what they saw while recording they see again on replay."""


def test_both_verbs_are_replayed(whole_loop):
    seen, _ = whole_loop("genai_generate.py")
    parts = seen["object"]["candidates"][0]["content"]["parts"]
    assert parts[0]["text"] == "You said “hello gemini” 🙂"
    texts = [event["candidates"][0]["content"]["parts"][0]["text"] for event in seen["streamed"]["events"]]
    assert "".join(texts) == "You said “stream me a gemini” 🙂"
    call = seen["called"]["candidates"][0]["content"]["parts"][0]["function_call"]
    assert (call["name"], call["args"]) == ("get_weather", {"city": "Paris"})
    assert {status: error["failed"]["class"] for status, error in seen["errors"].items()} == {
        "400": "ClientError", "429": "ClientError", "503": "ServerError"}
    failures = {scene: stream["failed"]["class"] for scene, stream in seen["streams"].items()}
    assert failures == {"fail midway": "ServerError", "hang up midway": "RemoteProtocolError"}


def test_upload_of_a_file_is_followed_through_loomrec(whole_loop):
    seen, _ = whole_loop("genai_upload.py")
    assert seen == {"name": "files/f1", "size": 10, "state": "ACTIVE"}
