"""A try that an SDK gave up at its time limit: the replay gives the answer that the SDK got."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import loop as ways
import pytest


class Late(BaseHTTPRequestHandler):
    """Answers the first request when the second one has come, which is the SDK's retry."""

    protocol_version = "HTTP/1.1"
    lock, count, retried = threading.Lock(), 0, threading.Event()

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        with self.lock:
            type(self).count += 1
            number = self.count
        if number == 1:
            self.retried.wait(60)
        elif number == 2:
            self.retried.set()
        asked = body["messages"][-1]["content"]
        said = {1: "Lima, which nobody got", 2: "Oslo"}.get(number, f"about: {asked}")
        answer = json.dumps({
            "id": f"chatcmpl-{number}", "object": "chat.completion", "created": 1, "model": "gpt-4o-mini",
            "choices": [{"index": 0, "finish_reason": "stop",
                         "message": {"role": "assistant", "content": said}}]}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


@pytest.fixture
def late():
    """A server whose first answer is late."""
    handler = type("LateOnce", (Late,), {"count": 0, "retried": threading.Event()})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


def test_answer_to_a_try_that_the_sdk_gave_up_is_not_served(loomrec, late, tmp_path):
    recording = tmp_path / "recording.json"
    line = ways.command("openai_impatient.py", "1.5")
    recorded = loomrec.record(recording, late, line)
    assert recorded.code == 0, recorded.stderr
    assert recorded.document == {"first": "Oslo", "second": "about: tell me of Oslo"}
    assert (recorded.receipt["recorded"], recorded.receipt["given_up"]) == (3, 1), recorded.receipt
    for _ in range(3):
        replayed = loomrec.replay(recording, line, "--fail-unused")
        assert replayed.code == 0, replayed.stderr
        assert replayed.document == recorded.document
