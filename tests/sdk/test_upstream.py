"""The suite's own instruments: an upstream that counts, programs that can tell."""

import json
import socket
import subprocess
import sys
from pathlib import Path

import pytest

import loop as ways


@pytest.mark.parametrize(("program", "error", "tries_when_500"), [
    ("openai_ask.py", "UnprocessableEntityError", 3),
    ("anthropic_ask.py", "UnprocessableEntityError", 3),
    ("genai_ask.py", "ClientError", 1),
    ("node_ask.mjs", "UnprocessableEntityError", 3),
])
def test_programs_tell_the_class_of_an_error_and_how_often_they_tried(
        program, error, tries_when_500, upstream, tmp_path):
    refused = ways.direct(upstream.url, ways.command(program, "status 422"), tmp_path).document
    assert (refused["failed"]["class"], refused["failed"]["status"], refused["attempts"]) == (error, 422, 1)
    assert len(upstream.requests) == 1
    upstream.forget()
    failing = ways.direct(upstream.url, ways.command(program, "status 500"), tmp_path).document
    assert failing["attempts"] == tries_when_500 == len(upstream.requests)


def test_a_call_in_the_dark_is_counted(upstream, tmp_path):
    upstream.go_dark()
    failed = ways.direct(upstream.url, ways.command("openai_ask.py", "anyone?"), tmp_path).document
    assert failed["failed"]["class"] == "APIConnectionError"
    assert upstream.connections_in_the_dark == 3
    assert upstream.requests == []


def test_an_open_connection_is_not_answered_in_the_dark(upstream):
    with socket.create_connection(("127.0.0.1", upstream.port)) as connection:
        connection.sendall(b"GET /v1/models HTTP/1.1\r\nhost: x\r\n\r\n")
        assert connection.recv(12) == b"HTTP/1.1 200"
        upstream.go_dark()
        with pytest.raises(OSError):
            while connection.recv(65536):
                connection.sendall(b"GET /v1/models HTTP/1.1\r\nhost: x\r\n\r\n")
    assert len(upstream.requests) == 1


def test_counts_are_written_when_it_runs_by_itself(tmp_path):
    counts = tmp_path / "counts.json"
    script = Path(__file__).parent / "upstream.py"
    with subprocess.Popen([sys.executable, str(script), "--counts", str(counts)],
                          stdout=subprocess.PIPE, encoding="utf-8") as child:
        try:
            url = child.stdout.readline().strip()
            ways.direct(url, ways.command("openai_retry.py"), tmp_path)
            assert json.loads(counts.read_text()) == {
                "connections": 1, "requests": 2, "connections_in_the_dark": 0}
        finally:
            child.kill()


def test_a_key_is_found_wherever_it_lies(tmp_path):
    ways.assert_no_key_below(tmp_path, "no key here")
    (tmp_path / "below").mkdir()
    (tmp_path / "below" / "file.json").write_text('{"key": "%s"}' % ways.KEYS["OPENAI_API_KEY"])
    with pytest.raises(AssertionError, match="file.json"):
        ways.assert_no_key_below(tmp_path)
