"""aimock and loomrec side by side: the same fixture file with chaos, the same requests, the same
status, body, headers, counters and journal.

loomrec answers from the fixture file itself, as a script; or from a recording that it makes in front
of an aimock with the same fixtures, without their chaos, where `recording_of` gives each entry the
chaos of its fixture. A recording has aimock's answers byte for byte; a script has loomrec's own, so of
these only what chaos makes of them is compared.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import signal
import subprocess
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import loop as ways
from conftest import AIMOCK, stop

FIXTURES = Path(__file__).parent / "aimock_chaos.json"

# What differs on purpose, and why. A request names its difference; all else must be the same.
MISS = "a request that nothing matches is a miss: 422 in the shape of its provider, not 404"
WORDS = "the parser's own words follow `Invalid JSON: `"
COUNT = "loomrec counts what it loaded: of a recording the entries, not fixtures"
BROKEN = "{malformed json: <<<chaos>>>"
NO_PROXY = "aimock calls the source of chaos on a request that nothing matches `internal` for chats and " \
           "`proxy` for all else, also where it has no upstream; loomrec says `internal`"


@dataclass
class Step:
    """A request, and how it differs on purpose."""

    name: str
    method: str
    path: str
    body: str | None = None
    headers: dict[str, str] = field(default_factory=dict)
    differs: str | None = None
    at_least_ms: int = 0


@dataclass
class Seen:
    """What a client saw of an answer."""

    status: int
    body: object
    headers: dict[str, str]
    took_ms: float


def chat(prompt: str, stream: bool = False) -> tuple[str, dict]:
    return "/v1/chat/completions", {
        "model": "gpt-4o", "stream": stream, "messages": [{"role": "user", "content": prompt}]}


def messages(prompt: str, stream: bool = False) -> tuple[str, dict]:
    return "/v1/messages", {
        "model": "claude-sonnet-4-5", "max_tokens": 64, "stream": stream,
        "messages": [{"role": "user", "content": prompt}]}


def gemini(prompt: str, stream: bool = False) -> tuple[str, dict]:
    verb = "streamGenerateContent?alt=sse" if stream else "generateContent"
    return f"/v1beta/models/gemini-2.0-flash:{verb}", {
        "contents": [{"role": "user", "parts": [{"text": prompt}]}]}


def responses(prompt: str, stream: bool = False) -> tuple[str, dict]:
    return "/v1/responses", {"model": "gpt-4o", "stream": stream, "input": prompt}


def embeddings(_prompt: str) -> tuple[str, dict]:
    return "/v1/embeddings", {"model": "text-embedding-3-small", "input": "a text"}


APIS = {"chat": chat, "messages": messages, "gemini": gemini, "responses": responses}
WAYS = {f"{name} {'stream' if stream else 'complete'}": (lambda prompt, make=make, stream=stream: make(prompt, stream))
        for name, make in APIS.items() for stream in (False, True)} | {"embeddings": embeddings}
BY_QUERY = (f"{chat('')[0]}?testId=one", chat("plain")[1])
PROMPTS = ["dropped", "garbled", "limited", "cut off", "late", "two faults", "spared"]


def post(name: str, call: tuple[str, dict], headers: dict[str, str] | None = None, **more) -> Step:
    return Step(name, "POST", call[0], json.dumps(call[1]), headers or {}, **more)


def control(method: str, path: str, body: str | None = None, **more) -> Step:
    return Step(f"{method} {path} {body or ''}", method, path, body, **more)


def steps() -> list[Step]:
    """The requests, in their order."""
    by_header = [
        post(f"{way}, {action}: {rate}", make("plain"), {f"x-aimock-chaos-{action}": rate})
        for way, make in WAYS.items()
        for action, rate in [("drop", "1"), ("malformed", "1.0"), ("ratelimit", "1"), ("disconnect", "1"), ("drop", "0")]]
    zero = {f"x-aimock-chaos-{action}": "0" for action in ("drop", "malformed", "ratelimit", "disconnect", "latency")}
    mixed = [
        post("all rates 0", chat("plain"), zero),
        post("all at once: drop comes first", chat("plain"), {name: "1" for name in zero}),
        post("a limit comes before a disconnect", chat("plain"),
             {"x-aimock-chaos-ratelimit": "1", "x-aimock-chaos-disconnect": "1"}),
        post("late by a header", chat("plain"), {"x-aimock-chaos-latency": "80"}, at_least_ms=80),
        post("late, then limited", messages("plain"),
             {"x-aimock-chaos-latency": "80", "x-aimock-chaos-ratelimit": "1"}, at_least_ms=80),
        post("a header above a fixture", chat("dropped"), {"x-aimock-chaos-drop": "0"}),
        post("one of two above a fixture", chat("two faults"), {"x-aimock-chaos-drop": "0"}, at_least_ms=80),
        post("the first of several", chat("plain"), {"x-aimock-chaos-drop": "1, 0"}),
    ]
    late = {"late": 80, "two faults": 80}
    by_fixture = [post(f"{way}, fixture {prompt}", WAYS[way](prompt), at_least_ms=late.get(prompt, 0))
                  for way in ("chat complete", "chat stream", "messages complete", "gemini stream") for prompt in PROMPTS]
    invalid = [post(f"invalid {name}: {value!r}", chat("plain"), {f"x-aimock-chaos-{name}": value})
               for name, value in [("drop", "1.5"), ("drop", "-1"), ("drop", "banana"), ("drop", "0x1"), ("drop", "1e0"),
                                   ("malformed", "+1"), ("ratelimit", "NaN"), ("disconnect", "Infinity"), ("drop", ""),
                                   ("latency", "30001"), ("latency", "1.5"), ("latency", "soon")]]
    unmatched = [
        post("no match", chat("nothing"), differs=MISS),
        post("no match, messages", messages("nothing"), differs=MISS),
        *[post(f"no match, {action}", make("nothing"), {f"x-aimock-chaos-{action}": "1"})
          for action in ("drop", "malformed", "ratelimit", "disconnect") for make in (chat, messages)]]
    chaos = "/__aimock/chaos"
    one, two = {"x-test-id": "one"}, {"x-test-id": "two"}
    run_time = [
        control("GET", chaos),
        control("POST", chaos, '{"dropRate":1}'),
        control("GET", chaos),
        post("dropped at run time", chat("plain")),
        post("dropped at run time, streamed", messages("plain", True)),
        post("a header above run time", chat("plain"), {"x-aimock-chaos-drop": "0"}),
        post("a fixture above run time", chat("spared")),
        Step("another test", "POST", chaos, '{"malformedRate":1,"latencyMs":40}', one),
        post("a test of its own", chat("plain"), one, at_least_ms=40),
        post("a test in the query", BY_QUERY, at_least_ms=40),
        post("a test without rates of its own", chat("plain"), two),
        Step("no chaos for a test", "POST", chaos, "{}", two),
        post("spared by its test", chat("plain"), two),
        Step("shown for a test", "GET", chaos, None, one),
        Step("a blank test", "POST", chaos, '{"dropRate":1}', {"x-test-id": " "}),
        Step("cleared for a test", "DELETE", chaos, None, one),
        post("as the others again", chat("plain"), one),
        control("POST", chaos, '{"rateLimitRate":1}'),
        post("limited at run time", gemini("plain")),
        control("DELETE", chaos),
        post("answered again", chat("plain")),
        *[control("POST", chaos, body) for body in
          ("[]", '{"drop":1}', '{"dropRate":2}', '{"dropRate":"1"}', '{"dropRate":null}', '{"latencyMs":1.5}')],
        control("POST", chaos, "{", differs=WORDS),
        control("GET", "/__aimock/health"),
        control("GET", "/health"),
        control("GET", "/ready"),
        control("GET", "/__aimock/fixtures", differs=COUNT),
        control("GET", "/__aimock/nothing"),
        control("GET", "/__aimock/journal?nothing=1"),
        control("GET", "/__aimock/journal?limit=-1"),
        control("GET", "/v1/_requests?limit=x"),
    ]
    return [*by_header, *mixed, *by_fixture, *invalid, *unmatched, *run_time]


@pytest.fixture(params=["recording", "script"])
def answers(request):
    """What loomrec answers from."""
    return request.param


@pytest.fixture
def both(loomrec, tmp_path, answers):
    """The addresses of aimock and of loomrec, and loomrec's process."""
    if answers == "script":
        source = ["--script", str(FIXTURES)]
    else:
        source = ["-r", str(recording_of(loomrec, tmp_path)), "--repeat", "last"]
    with serving(["node", str(AIMOCK), "--port", "0", "--fixtures", str(FIXTURES), "--metrics", "--chunk-size", "5"],
                 tmp_path) as (theirs, _), \
            serving([loomrec.binary, "replay", *source, "--metrics-compat",
                     "--listen", "127.0.0.1:0", "--receipt", "receipt.json"], tmp_path) as (ours, process):
        yield theirs, ours, process


@contextlib.contextmanager
def serving(line: list[str], where: Path):
    """A server as a child process, once it listens."""
    env = {**os.environ, "AIMOCK_ALLOW_PRIVATE_URLS": "1"}
    child = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", cwd=where, env=env)
    said = []
    for text in child.stdout:
        said.append(text)
        if (found := re.search(r"listening on http://(\S+)", text)) is not None:
            break
    else:
        pytest.fail(f"{line[0]} did not start: exit {child.wait()}:\n{''.join(said)}")
    try:
        yield found[1], child
    finally:
        stop(child)


def recording_of(loomrec, where: Path) -> Path:
    """A recording of every way to ask for every fixture, with the chaos of the fixture."""
    fixtures = json.loads(FIXTURES.read_text(encoding="utf-8"))["fixtures"]
    calm = where / "calm.json"
    calm.write_text(json.dumps({"fixtures": [{**one, "chaos": {}} for one in fixtures]}), encoding="utf-8")
    recording = where / "recording.json"
    with serving(["node", str(AIMOCK), "--port", "0", "--fixtures", str(calm), "--chunk-size", "5"], where) as (address, _):
        upstreams = [f"--upstream={name}=http://{address}" for name in ways.AT_THE_ROOT]
        with serving([loomrec.binary, "record", "-r", str(recording), "--listen", "127.0.0.1:0", *upstreams],
                     where) as (ours, process):
            calls = {(call[0], json.dumps(call[1])) for make in WAYS.values() for prompt in [*PROMPTS, "plain"]
                     for call in [make(prompt)]}
            # A query is a part of a request's identity, so this one is recorded, too.
            calls.add((BY_QUERY[0], json.dumps(BY_QUERY[1])))
            for path, body in sorted(calls):
                seen = ask(ours, Step("recorded", "POST", path, body))
                assert seen.status == 200, (path, body, seen)
            process.send_signal(signal.SIGINT)
            process.communicate(timeout=ways.PATIENCE)
    held = json.loads(recording.read_text(encoding="utf-8"))
    marked = 0
    for key, entry in held.items():
        for take in entry if isinstance(entry, list) else [entry]:
            asked = "" if key.startswith("_") else json.dumps(take)
            for fixture in fixtures:
                prompt = fixture["match"].get("userMessage")
                if prompt and "chaos" in fixture and re.search(rf'"{prompt}"', asked):
                    take["chaos"] = fixture["chaos"]
                    marked += 1
    assert marked == len(APIS) * 2 * len(PROMPTS), marked
    recording.write_text(json.dumps(held), encoding="utf-8")
    return recording


def ask(address: str, step: Step) -> Seen:
    """Makes a request on a connection of its own."""
    host, port = address.rsplit(":", 1)
    connection = http.client.HTTPConnection(host, int(port), timeout=ways.PATIENCE)
    headers = {"content-type": "application/json", **step.headers} if step.body is not None else step.headers
    began = time.monotonic()
    try:
        connection.request(step.method, step.path, step.body, headers)
        answer = connection.getresponse()
        body = answer.read().decode()
    except (ConnectionError, http.client.HTTPException):
        return Seen(0, "", {}, (time.monotonic() - began) * 1000)
    finally:
        connection.close()
    kept = {name.lower(): value for name, value in answer.getheaders()
            if name.lower() in ("content-type", "retry-after") or name.lower().startswith("x-ratelimit-")}
    return Seen(answer.status, comparable(body), kept, (time.monotonic() - began) * 1000)


def comparable(body: str) -> object:
    """A body without what is new in each run: ids and times."""
    body = re.sub(r'"(chatcmpl|msg|resp|item|rs|req)[-_][^"]*"', '"ID"', body)
    body = re.sub(r'"(created|created_at|completed_at)":\s*\d+', r'"\1":0', body)
    try:
        return json.loads(body)
    except ValueError:
        return body


def as_compared(seen: Seen, answers: str) -> tuple:
    """What has to be the same of an answer."""
    is_chaos = seen.status != 200 or seen.body == BROKEN
    if answers == "script" and not is_chaos and not (isinstance(seen.body, dict) and len(seen.body) == 1):
        return (seen.status,)
    return seen.status, seen.body, seen.headers


def test_the_same_requests_get_the_same_from_aimock_and_loomrec(both, answers, tmp_path):
    theirs, ours, process = both
    list_of_steps = steps()
    assert len(list_of_steps) >= 60
    different = []
    for step in list_of_steps:
        expected, seen = ask(theirs, step), ask(ours, step)
        assert seen.took_ms >= step.at_least_ms and expected.took_ms >= step.at_least_ms, (step, seen, expected)
        if step.differs == MISS:
            assert (expected.status, seen.status) == (404, 422), (step, expected, seen)
        elif step.differs == WORDS:
            assert expected.status == seen.status == 400, (step, expected, seen)
            assert all(one.body["error"].startswith("Invalid JSON: ") for one in (expected, seen))
        elif step.differs == COUNT and answers == "recording":
            assert expected.status == seen.status == 200, (step, expected, seen)
        elif as_compared(expected, answers) != as_compared(seen, answers):
            different.append((step.name, expected, seen))
    assert not different, "\n".join(map(str, different))

    assert journal(ours) == journal(theirs)
    assert counters(ours) == counters(theirs)
    filtered = ask(ours, control("GET", "/__aimock/journal?status=429&limit=3")).body
    assert [one["response"]["chaosAction"] for one in filtered] == ["rateLimit"] * 3
    assert [one["path"] for one in ask(ours, control("GET", "/v1/_requests?limit=1")).body] == [chat("")[0]]
    assert ask(ours, control("DELETE", "/v1/_requests")).status == 204
    assert ask(ours, control("GET", "/__aimock/journal")).body == []

    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=ways.PATIENCE)
    receipt = json.loads((tmp_path / "receipt.json").read_text(encoding="utf-8"))
    # A green run does not hide what was set, and a fault does not hide a miss.
    assert receipt["faults"]["run_time_chaos"]["changes"] == 6, receipt["faults"]
    assert "chaos of test \"one\" was set" in said, said
    unanswered = receipt["missed"] if answers == "recording" else receipt["script"]["unanswered"]
    assert unanswered == (10 if answers == "recording" else 2), receipt
    ignored = {one["text"].split()[0] for one in receipt["faults"]["warnings"]}
    assert {f"x-aimock-chaos-{name}" for name in ("drop", "malformed", "ratelimit", "disconnect", "latency")} <= ignored


def journal(address: str) -> list[dict]:
    """The journal's entries, as far as both keep them: aimock shows a body in the shape of a chat,
    a fixture instead of the name of an entry, and 404 for what loomrec calls a miss (MISS); NO_PROXY."""
    entries = ask(address, control("GET", "/__aimock/journal")).body
    kept = []
    for entry in entries:
        response = dict(entry["response"])
        response["fixture"] = response["fixture"] is not None
        response["status"] = {422: 404}.get(response["status"], response["status"])
        if response.get("source") == "proxy":
            response["source"] = "internal"
        one = {"method": entry["method"], "path": entry["path"], "response": response,
               "chaos": {name: value for name, value in entry["headers"].items() if name.startswith("x-aimock-")}}
        if entry["path"].startswith(chat("")[0]):
            one["body"] = {name: value for name, value in entry["body"].items() if not name.startswith("_")}
        assert entry["id"] == "ID" and entry["timestamp"] > 1_700_000_000_000
        kept.append(one)
    return kept


def counters(address: str) -> dict[str, float]:
    """aimock's counters. It counts its own control endpoints, loomrec does not. MISS and NO_PROXY."""
    host, port = address.rsplit(":", 1)
    connection = http.client.HTTPConnection(host, int(port), timeout=ways.PATIENCE)
    connection.request("GET", "/metrics")
    text = connection.getresponse().read().decode()
    connection.close()
    lines = re.findall(r"^(aimock_(?:requests|chaos_triggered|chaos_bypassed)_total)\{(.*)\} (\S+)$", text, re.MULTILINE)
    counted: dict[str, float] = {}
    for name, labels, value in lines:
        if re.search(r'path="(/__aimock/|/v1/_requests|/metrics|/health|/ready)', labels):
            continue
        labels = labels.replace('status="422"', 'status="404"').replace('source="proxy"', 'source="internal"')
        series = f"{name} {','.join(sorted(labels.split(',')))}"
        counted[series] = counted.get(series, 0) + float(value)
    assert counted, text
    return counted
