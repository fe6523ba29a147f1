"""A suite of mcptest, and an agent of the OpenAI Agents SDK whose tools fail as it says. Each fault is judged as
mcptest's rules judge the times in the journal, while recording and on a strict replay."""

import contextlib
import json
import os
import shutil
import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import loop as ways
from conftest import BARE
from test_mcp import looms

AGENTS = Path(os.environ.get("LOOMREC_SDK_OPENAI_AGENTS", Path(__file__).parents[2] / ".cache/sdk/openai-agents"))
SUITE = Path(__file__).with_name("recovery_suite.yml").read_text(encoding="utf-8")
FOUND, NOT_FOUND = "weft: part of a loom", "I could not look it up."
SEARCH, MIRROR = "mcp_search__look_up", "mcp_mirror__look_up"
pytestmark = pytest.mark.skipif(BARE, reason="a bare run: no fault happens")
SECONDS = 1  # the timeout of a tool's call


class LookingModel(BaseHTTPRequestHandler):
    """A model that calls the tools that the prompt names, in turn, until one finds the word."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))["messages"]
        tools = json.loads(asked[0]["content"])
        results = [str(message["content"]) for message in asked if message["role"] == "tool"]
        message: dict = {"role": "assistant", "content": None}
        if results and FOUND in results[-1]:
            message["content"] = FOUND
        elif len(results) == len(tools):
            message["content"] = NOT_FOUND
        else:
            function = {"name": tools[len(results)], "arguments": '{"word": "weft"}'}
            message["tool_calls"] = [{"id": f"call_{len(results)}", "type": "function", "function": function}]
        finish = "tool_calls" if "tool_calls" in message else "stop"
        choice = {"index": 0, "message": message, "finish_reason": finish}
        answer = json.dumps({"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "gpt-4o",
                             "choices": [choice]}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def model():
    """Such a model, as a flag."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), LookingModel)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"--upstream=openai=http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


@dataclass(frozen=True)
class SuiteBudget:
    """mcptest's three fields."""

    max_detection_ms: int
    max_recovery_ms: int | None = None
    require_clean_timeout: bool = False

    def fields(self) -> dict:
        return {name: value for name, value in vars(self).items() if value is not None}

    def flag(self) -> str:
        return ",".join(f"{name}={json.dumps(value)}" for name, value in self.fields().items())


def report(fired: float, noticed: float | None, recovered: float | None, timeout_budget: float) -> dict:
    """mcptest's five numbers from what was observed of a fault. A mark before the start did not happen."""
    detection, recovery = (None if mark is None or mark < fired else round(mark - fired, 1)
                           for mark in (noticed, recovered))
    marks = [mark for mark in (detection, recovery) if mark is not None]
    return {"time_to_detection_ms": detection, "time_to_recovery_ms": recovery,
            "user_visible_hang_ms": min(marks, default=timeout_budget), "recovered": recovery is not None,
            "clean_timeout": detection is not None and detection <= timeout_budget}


def keeps(budget: SuiteBudget, numbers: dict) -> bool:
    """mcptest's verdict on a fault."""
    recovery = numbers["time_to_recovery_ms"]
    is_in_time = budget.max_recovery_ms is None or recovery is not None and recovery <= budget.max_recovery_ms
    return numbers["recovered"] and is_in_time and (numbers["clean_timeout"] or not budget.require_clean_timeout)


def observed(journal: Path) -> dict[int, dict]:
    """When each fault happened, was first noticed and was recovered from, and by what."""
    faults: dict[int, dict] = {}
    for line in map(json.loads, journal.read_text(encoding="utf-8").splitlines()):
        if line["outcome"] in ("fired", "noticed", "recovered"):
            faults.setdefault(line["fault"], {}).setdefault(line["outcome"], (line["at_ms"], line["by"]))
    return faults


@dataclass(frozen=True)
class SuiteCase:
    """A fault of the suite that an agent meets."""

    fault: str
    #: The tools that the model calls until one finds the word.
    tools: tuple[str, ...]
    budget: SuiteBudget
    #: By what the program recovered from each fault.
    by: tuple[str | None, ...]
    said: str
    passes: bool
    #: Whether the program tells loomrec nothing.
    is_silent: bool = False


CLEAN = SuiteBudget(5000, 30_000, require_clean_timeout=True)
LATE = SuiteBudget(500, require_clean_timeout=True)
#: Budgets by which each journal is judged, too.
OTHERS = (CLEAN, LATE, SuiteBudget(500), SuiteBudget(5000, 1500), SuiteBudget(5000))
CASES = {
    "hang": SuiteCase("tool hangs", (SEARCH, SEARCH), CLEAN, ("clean_error",) * 2, NOT_FOUND, True),
    "hang, and no word of it": SuiteCase("tool hangs", (SEARCH,), CLEAN, (None,), NOT_FOUND, False, is_silent=True),
    "hang that is noticed late": SuiteCase("search hangs", (SEARCH,), LATE, ("clean_error",), NOT_FOUND, False),
    "wedged, and another server": SuiteCase("search is wedged", (SEARCH, MIRROR), CLEAN, ("fallback",), FOUND, True,
                                            is_silent=True),
    "recover-after:1": SuiteCase("search recovers", (SEARCH, SEARCH), CLEAN, ("same_call",), FOUND, True),
    "recover-after:2": SuiteCase("search recovers late", (SEARCH,) * 3, SuiteBudget(5000, 1500),
                                 ("same_call",) * 2, FOUND, False),
}


class ReadingAgent:
    """Runs the agent, with its model and its servers."""

    def __init__(self, loomrec: ways.Loomrec, upstreams: list[str]) -> None:
        self.loomrec, self.upstreams, folder = loomrec, upstreams, loomrec.where
        self.recording, self.journal = folder / "recording.json", folder / "journal.jsonl"
        self.suite = folder / "suite.yml"

    def inject(self, fault: str, budget: SuiteBudget) -> list[str]:
        """The flags of the suite with one fault."""
        suite = SUITE.replace("@FAULT@", fault).replace("@BUDGET@", json.dumps(budget.fields()))
        self.suite.write_text(suite, encoding="utf-8")
        return ["--faults", str(self.suite), "--journal", str(self.journal)]

    def record(self, flags: list[str], *words: str) -> ways.Outcome:
        line, variables = agent(*words)
        return self.loomrec.run("record", self.recording, [*self.upstreams, *flags], line, **variables, **ways.KEYS)

    def replay(self, flags: list[str], *words: str) -> ways.Outcome:
        line, variables = agent(*words)
        return self.loomrec.run("replay", self.recording, ["--strict", *flags], line, **variables)


def agent(*words: str) -> tuple[list[str], dict[str, str]]:
    """The command of the agent, and the variables that it needs."""
    python, variables = ways.python_of(AGENTS)
    return [python, str(ways.PROGRAMS / "agent_with_tools.py"), *words], variables


def words_of(tools: tuple[str, ...], is_silent: bool = False) -> list[str]:
    return [json.dumps(tools), str(SECONDS), *(["--silent"] if is_silent else [])]


def check(case: SuiteCase, ran: ways.Outcome, journal: Path) -> None:
    """The verdict is that of mcptest's rules on the times of the journal."""
    assert ran.document == {"said": case.said}, ran.stderr
    seen, recovery = observed(journal), ran.receipt["recovery"]
    assert [marks.get("recovered", (None, None))[1] for marks in seen.values()] == [*case.by]
    # The next call may come before the end of the connection that the client gave up.
    assert {marks["noticed"][1] for marks in seen.values()} <= {"left", "again"}, seen
    assert {fault["rule"] for fault in recovery["faults"]} == {case.fault}
    assert (recovery["passed"], ran.code) == (case.passes, 0 if case.passes else 1), ran.stderr
    assert judged(recovery["faults"], seen, case.budget) == case.passes
    for budget in OTHERS:
        line = [os.environ["LOOMREC_BIN"], "journal", str(journal), "--json", "--recovery", budget.flag()]
        scored = ways.execute(line, ways.environment(), journal.parent)
        keeps_all = judged(scored.document["faults"], seen, budget)
        assert (scored.document["passed"], scored.code) == (keeps_all, 0 if keeps_all else 1), scored.stderr


def judged(faults: list[dict], seen: dict[int, dict], budget: SuiteBudget) -> bool:
    """Whether all faults keep the budget. The five numbers and the verdict of each are those of the rules."""
    verdicts = []
    for fault, marks in zip(faults, seen.values(), strict=True):
        times = (marks.get(name, (None, None))[0] for name in ("fired", "noticed", "recovered"))
        numbers = report(*times, budget.max_detection_ms)
        assert {name: fault[name] for name in numbers} == pytest.approx(numbers, abs=0.11), fault
        verdicts.append(keeps(budget, numbers))
        assert verdicts[-1] == (not fault["missed"]), fault
    return all(verdicts)


@pytest.fixture(scope="module")
def upstreams():
    """The model and the servers, as flags."""
    with model() as openai, looms() as search, looms() as mirror:
        yield [openai, search.replace("tools", "search"), mirror.replace("tools", "mirror")]


@pytest.fixture(scope="module")
def healthy(upstreams, tmp_path_factory) -> Path:
    """The recording of a run without a fault, which tests no budget."""
    reader = ReadingAgent(ways.Loomrec(os.environ["LOOMREC_BIN"], tmp_path_factory.mktemp("healthy")), upstreams)
    recorded = reader.record(reader.inject("healthy", CLEAN), *words_of((SEARCH,)))
    assert recorded.document == {"said": FOUND}, recorded.stderr
    assert (recorded.code, recorded.receipt["recovery"]["outcome"]) == (1, "not_tested"), recorded.stderr
    return reader.recording


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_recovery_from_a_fault_of_a_suite_is_judged_by_its_rules(case, loomrec, healthy, upstreams):
    reader = ReadingAgent(loomrec, upstreams)
    shutil.copy(healthy, reader.recording)
    words, flags = words_of(case.tools, case.is_silent), reader.inject(case.fault, case.budget)
    check(case, reader.record(flags, *words), reader.journal)
    check(case, reader.replay(flags, *words), reader.journal)


def test_fault_that_only_delays_a_tool_tests_no_budget(loomrec, healthy, upstreams):
    reader = ReadingAgent(loomrec, upstreams)
    shutil.copy(healthy, reader.recording)
    flags = [*reader.inject("tool is slow", CLEAN), "--allow-unfired"]
    ran = reader.replay(flags, *words_of((SEARCH,)))
    assert (ran.document, ran.code) == ({"said": FOUND}, 0), ran.stderr
    (fault,) = ran.receipt["recovery"]["faults"]
    assert ran.receipt["recovery"]["outcome"] == "not_tested"
    assert (fault["rule"], fault["only_delays"]) == ("tool is slow", True)
