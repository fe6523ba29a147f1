"""A replay is strict, has the guard, and says what it goes by."""

from __future__ import annotations

import http.server
import json
import threading
import time

import pytest

AROUND = """
import urllib.request

import pytest
from assistant import ask


@pytest.mark.loomrec
def test_around():
    assert "around" in ask("around")
    try:
        urllib.request.urlopen("https://api.openai.com/v1/models", timeout=20)
    except OSError:
        pass
"""
RULES = """
[replay]
ignore = ["/messages"]
"""
FORWARD = """
on-miss = "forward"

[upstreams]
openai = "{url}"
"""


@pytest.fixture
def small(project):
    """The project without the tests that take seconds to import."""
    project.leave_out_sdks()
    return project


def test_no_setting_of_the_project_makes_a_changed_prompt_pass(small):
    small.write("loomrec.toml", RULES)
    small.edit("tests/test_shapes.py", "What is the capital of France?", "What is the capital of Spain?")
    ran = small.run("tests/test_shapes.py", "-k", "test_capital")
    assert ran.code == 1 and ran.counts == {"failed": 1, "deselected": ran.counts["deselected"]}, ran.stdout
    assert "drifted" in ran.stdout, ran.stdout
    small.write("loomrec.toml", RULES + FORWARD.format(url=small.upstream.url))
    ran = small.run("tests/test_shapes.py", "-k", "test_capital")
    assert ran.code != 0 and "passed" not in ran.counts, ran.stdout + ran.stderr
    assert small.upstream.connections == 0


def test_connection_that_goes_around_fails_the_run(small):
    small.write("tests/test_around.py", AROUND)
    recorded = small.record("tests/test_around.py")
    around = "connections went around loomrec"
    assert recorded.code == 1, recorded.stdout + recorded.stderr
    assert [line for line in recorded.said if around in line and "api.openai.com (1)" in line], recorded.said
    replayed = small.run("tests/test_around.py")
    assert replayed.counts == {"passed": 1} and replayed.code == 1, replayed.stdout
    assert [line for line in replayed.said if around in line and "api.openai.com (1)" in line], replayed.said
    parallel = small.run("-n", "2", "tests/test_around.py")
    assert parallel.code == 1 and [line for line in parallel.said if around in line], parallel.stdout


def test_marked_test_without_a_call_is_named(small):
    small.write("tests/test_silent.py", "import pytest\n\n\n@pytest.mark.loomrec\ndef test_silent():\n    pass\n")
    ran = small.run("tests/test_silent.py")
    assert ran.code == 0, ran.stdout
    assert ran.said == ["marked tests without a call: tests/test_silent.py::test_silent"], ran.said


def test_rule_of_a_mark_is_named(small):
    small.write("tests/test_rule.py", """
import uuid

import pytest
from assistant import ask


@pytest.mark.loomrec(ignore="/user")
def test_rule():
    assert "rule" in ask("a rule")
""")
    assert small.record("tests/test_rule.py").code == 0
    ran = small.run("tests/test_rule.py")
    assert ran.code == 0, ran.stdout
    assert [line for line in ran.said if line.startswith("in force: ") and "/user" in line], ran.said


class _Failing(http.server.BaseHTTPRequestHandler):
    """Answers with 503 at first, and then with a chat completion."""

    calls = 0

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        type(self).calls += 1
        message = {"role": "assistant", "content": "at last"}
        said = {"error": {"message": "busy"}} if self.calls == 1 else {
            "id": "x", "object": "chat.completion", "model": "gpt-4o-mini",
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
        body = json.dumps(said).encode()
        self.send_response(503 if self.calls == 1 else 200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        if self.calls == 1:
            # The test reads no more of this answer than its status.
            time.sleep(0.2)
        self.wfile.write(body)

    def log_message(self, *_args):
        pass


def test_call_that_failed_in_record_is_named(small):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Failing)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    small.point_at(f"http://127.0.0.1:{server.server_port}")
    small.write("tests/test_retry.py", """
import pytest
from assistant import ask


@pytest.mark.loomrec
def test_retry():
    try:
        ask("twice")
    except Exception:
        pass
    assert "at last" in ask("twice")
""")
    recorded = small.record("tests/test_retry.py")
    server.shutdown()
    assert recorded.code == 0, recorded.stdout + recorded.stderr
    said = "calls that failed while they were recorded, and are replayed as failures: "
    assert f"{said}tests/test_retry.py::test_retry (503: 1)" in recorded.said, recorded.said
    replayed = small.run("tests/test_retry.py")
    assert replayed.code == 0, replayed.stdout


def test_control_call_of_a_test_that_weakens_the_replay_fails_the_run(small):
    small.write("tests/test_control.py", """
import json
import os
import urllib.request

import pytest


def control(path, body):
    url = os.environ["OPENAI_BASE_URL"].split("/@")[0] + "/__loomrec/" + path
    request = urllib.request.Request(url, json.dumps(body).encode(), {"content-type": "application/json"})
    urllib.request.urlopen(request, timeout=20).read()


@pytest.mark.loomrec(ignore="/user")
def test_control():
    control("session", {"prefix": "own", "name": "own", "ignore": ["/messages"]})
    control("session/end", {"prefix": "own"})
""")
    ran = small.run("tests/test_control.py")
    assert ran.code == 1 and ran.counts == {"passed": 1}, ran.stdout + ran.stderr
    told = "control calls of the tests changed what a strict replay answers: ignore of a session"
    assert told in ran.said, ran.said
