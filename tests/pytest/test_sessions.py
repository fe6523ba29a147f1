"""The plain Python API, and `python -m loomrec`."""

import json
import os
import subprocess
import sys
import urllib.error
import urllib.request

import pytest

from loomrec.server import LoomrecError
from loomrec.sessions import SessionServer

OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def ask(url: str, text: str) -> str:
    body = json.dumps({"model": "gpt-4o-mini", "messages": [{"role": "user", "content": text}]})
    request = urllib.request.Request(f"{url}/openai/v1/chat/completions", body.encode(),
                                     {"content-type": "application/json"})
    with OPENER.open(request, timeout=30) as response:
        return json.load(response)["choices"][0]["message"]["content"]


def test_sessions_are_recorded_and_replayed(upstream, tmp_path, monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    with SessionServer("record", tmp_path, "--upstream", f"openai={upstream.url}") as server:
        variables = server.environment("a")
        assert variables["OPENAI_BASE_URL"] == f"{server.url}/@a/openai/v1"
        session = server.begin("a", name="first", recording="kept/first.json")
        assert (session.mode, session.exists, session.name) == ("record", False, "first")
        ask(session.url, "hi")
        assert session.show().recorded == 1
        assert session.end().kept
        dropped = server.begin("a", recording="kept/second.json")
        ask(dropped.url, "ho")
        assert not dropped.end(keep=False).kept
    kept = sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("kept/**/*"))
    assert kept == ["kept/.loomrec", "kept/.loomrec/.gitignore", "kept/first.json"]

    with SessionServer("replay", tmp_path) as server:
        session = server.begin("b", recording="kept/first.json")
        assert session.exists and "hi" in ask(session.url, "hi")
        with pytest.raises(urllib.error.HTTPError):
            ask(session.url, "ho")
        result = session.end()
    assert (result.served, result.missed, result.verdict, result.kept) == (1, 1, "failed", False)
    assert result.usage.output == 9 and result.cost_usd > 0
    assert [call["outcome"] for call in result.calls] == ["served", "missed"]
    assert result.mismatches[0]["method"] == "POST" and result.summary


def test_refusals_say_why(tmp_path):
    with SessionServer("replay", tmp_path) as server:
        session = server.begin("a")
        with pytest.raises(LoomrecError, match="open"):
            server.begin("a")
        session.end()
        with pytest.raises(LoomrecError, match="session"):
            session.end()
        with pytest.raises(LoomrecError, match="record"):
            server.begin("a", mode="record")
        with pytest.raises(LoomrecError):
            server.begin("a", recording="../outside.json")
    with pytest.raises(LoomrecError, match="does not answer"):
        server.begin("a")


def test_values_are_added_before_the_first_call(upstream, tmp_path):
    with SessionServer("record", tmp_path, "--upstream", f"openai={upstream.url}") as server:
        session = server.begin("a", recording="a.json", vars={"one": "/value/one"})
        session.add_vars(two="/value/two")
        ask(session.url, "of /value/one and /value/two .")
        with pytest.raises(LoomrecError):
            session.add_vars(three="/value/three")
        session.end()
    with SessionServer("replay", tmp_path) as server:
        session = server.begin("a", recording="a.json", vars={"one": "/other/one", "two": "/other/two"})
        assert "/other/one and /other/two" in ask(session.url, "of /other/one and /other/two .")
        assert session.end().verdict == "ok"


def test_module_runs_the_binary():
    def run(*arguments):
        return subprocess.run(arguments, capture_output=True, encoding="utf-8", check=False)

    binary = os.environ["LOOMREC_BIN"]
    for arguments in (["--version"], ["replay", "--no-such-flag"]):
        through, direct = run(sys.executable, "-m", "loomrec", *arguments), run(binary, *arguments)
        assert (through.returncode, through.stdout, through.stderr) == (direct.returncode, direct.stdout, direct.stderr)


def test_binary_of_another_version_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("loomrec.sessions.SESSIONS_VERSION", 99)
    with pytest.raises(LoomrecError, match="version 1 of the session interface.* version 99"):
        SessionServer("replay", tmp_path)
