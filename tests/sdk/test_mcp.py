"""MCP's SDK: what it saw while recording it sees again on replay, with its server gone. It leaves a stream
once it has read its response, before the body's end: then it has its whole answer."""

import contextlib
import json
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

import loop as ways
from conftest import assert_green

WORDS = ("loom", "weft", "warp", "reed", "heddle", "shuttle", "selvage", "bobbin")
LINE = ways.command("mcp_tools.py", *WORDS)
DOCUMENT = {"tools": ["look_up"], "said": [f"{word}: part of a loom" for word in WORDS]}


def result(message: dict) -> dict:
    match message["method"]:
        case "initialize":
            return {"protocolVersion": message["params"]["protocolVersion"], "capabilities": {"tools": {}},
                    "serverInfo": {"name": "words", "version": "1"}}
        case "tools/list":
            schema = {"type": "object", "required": ["word"], "properties": {"word": {"type": "string"}}}
            return {"tools": [{"name": "look_up", "description": "Looks a word up.", "inputSchema": schema}]}
        case _:
            text = f"{message['params']['arguments']['word']}: part of a loom"
            return {"content": [{"type": "text", "text": text}]}


class Tools(BaseHTTPRequestHandler):
    """An MCP server that answers in streams, each of which ends some time after its response."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if "id" not in message:
            return self.bare(202)
        answer = {"jsonrpc": "2.0", "id": message["id"], "result": result(message)}
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        self.chunk(f"event: message\ndata: {json.dumps(answer)}\n\n")
        time.sleep(0.1)
        self.chunk("")

    def do_GET(self):
        self.bare(405)

    def bare(self, status):
        self.send_response(status)
        self.send_header("content-length", "0")
        self.end_headers()

    def chunk(self, text):
        data = text.encode()
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    def log_message(self, *_):
        pass


@pytest.fixture
def tools():
    """The address of such a server, as a flag."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Tools)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"--upstream=tools=http://127.0.0.1:{server.server_port}"
    server.shutdown()


def ends(journal) -> list[str]:
    """How the answers of a run's calls of tools ended."""
    lines = [json.loads(line) for line in journal.read_text(encoding="utf-8").splitlines()]
    calls = [line for line in lines if line.get("method") == "POST" and line.get("status") == 200]
    return [line["end"] for line in calls]


def test_client_that_closes_after_its_response_was_answered(loomrec, tools, upstream, tmp_path):
    recording, journal = tmp_path / "recording.json", tmp_path / "journal.jsonl"
    recorded = loomrec.record(recording, upstream.url, LINE, tools, "--journal", str(journal))
    assert recorded.code == 0, recorded.stderr
    assert recorded.document == DOCUMENT
    assert recorded.receipt["given_up"] == 0, recorded.receipt
    assert set(ends(journal)) == {"complete"} and len(ends(journal)) == len(WORDS) + 2
    assert all("client_left" not in take for take in ways.entries(recording))
    for _ in range(3):
        replayed = loomrec.replay(recording, LINE, "--fail-unused")
        assert replayed.code == 0, replayed.stderr
        assert replayed.document == DOCUMENT


def test_client_that_closes_after_its_response_has_recovered(loomrec, tools, upstream, tmp_path):
    plan = tmp_path / "plan.json"
    rule = {"match": {"body": {"/method": "tools/call"}}, "fault": "http_error:503", "times": 1}
    plan.write_text(json.dumps({"rules": [rule]}), encoding="utf-8")
    for run in range(8):
        # The SDK gives each call an id of its own.
        recorded = loomrec.record(tmp_path / f"recording{run}.json", upstream.url, LINE, tools, "--ignore", "/id",
                                  "--faults", str(plan), "--recovery", "max_detection_ms=60000")
        assert recorded.code == 0, recorded.stderr
        assert recorded.document == DOCUMENT
        faults = recorded.receipt["recovery"]["faults"]
        assert len(faults) == len(WORDS), faults
        assert {fault["recovered_by"] for fault in faults} == {"same_call"}, faults


@contextlib.contextmanager
def looms(*flags: str):
    """A server of MCP's own SDK, as a flag."""
    line = [sys.executable, str(ways.PROGRAMS / "mcp_server.py"), *flags]
    child = subprocess.Popen(line, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8")
    try:
        yield f"--upstream=tools=http://127.0.0.1:{child.stdout.readline().strip()}"
    finally:
        child.stdin.close()
        child.wait(ways.PATIENCE)
        child.stdout.close()


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize("flags", [(), ("--json",), ("--stateless",)], ids=["sse", "json", "stateless"])
def test_tools_of_the_sdk_are_replayed_without_their_server(loomrec, upstream, tmp_path, mode, flags):
    recording = tmp_path / "recording.json"
    line = ways.command("mcp_client.py", mode, "weft")
    with looms(*flags) as tools:
        recorded = loomrec.record(recording, upstream.url, line, tools)
    assert recorded.code == 0, recorded.stderr
    seen = recorded.document
    assert [call.get("text") for call in seen["calls"][:2]] == [["weft: part of a loom"]] * 2
    assert seen["calls"][2]["is_error"] is True
    assert isinstance(seen["prompt"][0], int), seen
    for _ in range(2):
        replayed = loomrec.replay(recording, line, "--fail-unused")
        assert replayed.code == 0, replayed.stderr
        assert replayed.document == seen
        assert_green(replayed)


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_changed_argument_is_a_miss_that_the_sdk_shows(loomrec, upstream, tmp_path, mode):
    recording = tmp_path / "recording.json"
    with looms() as tools:
        recorded = loomrec.record(recording, upstream.url, ways.command("mcp_client.py", mode, "weft"), tools)
    assert recorded.code == 0, recorded.stderr
    replayed = loomrec.replay(recording, ways.command("mcp_client.py", mode, "warp"))
    assert replayed.code == 1, replayed.stderr
    assert replayed.receipt["missed"] == 2, replayed.receipt
    code, message = replayed.document["calls"][0]["error"]
    assert code == 422 and message.startswith("RecordingMismatchError: "), message
    assert "tools/call look_up" in message and '"warp"' in message and '"weft"' in message
    assert replayed.document["calls"][2:] == recorded.document["calls"][2:]


def test_tools_of_the_sdk_for_node_are_replayed_without_their_server(loomrec, upstream, tmp_path):
    recording = tmp_path / "recording.json"
    line = ways.command("mcp_client.mjs", "weft")
    with looms() as tools:
        recorded = loomrec.record(recording, upstream.url, line, tools)
    assert recorded.code == 0, recorded.stderr
    seen = recorded.document
    assert seen["calls"][3]["text"] == ["3 rows"] and len(seen["progress"]) == 3, seen
    replayed = loomrec.replay(recording, line, "--fail-unused")
    assert replayed.code == 0, replayed.stderr
    assert replayed.document == seen
    assert_green(replayed)
    changed = loomrec.replay(recording, ways.command("mcp_client.mjs", "warp"))
    assert changed.code == 1, changed.stderr
    code, message = changed.document["calls"][0]["error"]
    assert code == 422 and "RecordingMismatchError: " in message and "tools/call look_up" in message
    assert changed.document["calls"][2:] == seen["calls"][2:]


def test_tool_that_hangs_leaves_the_server_responsive_and_recovers(loomrec, upstream, tmp_path):
    recording = tmp_path / "recording.json"
    line = ways.command("mcp_client.py", "legacy", "weft")
    with looms() as tools:
        recorded = loomrec.record(recording, upstream.url, line, tools)
    assert recorded.code == 0, recorded.stderr
    replayed = loomrec.replay(recording, line, "--fault", "recover_after:1;tool=look_up",
                              MCP_TIMEOUT="1")
    assert replayed.code == 0, replayed.stderr
    seen = replayed.document
    assert "error" in seen["calls"][0] and seen["calls"][1:] == recorded.document["calls"][1:], seen
    assert seen["tools"] == recorded.document["tools"]
    assert replayed.receipt["faulted"] == 1, replayed.receipt
    assert replayed.receipt["prescribed"] == {"notifications/cancelled": 1}, replayed.receipt
