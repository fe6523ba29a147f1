"""Faults on tools as MCP's own clients show them, over HTTP and over stdio: each cell of the table in docs/mcp.md.

The client lists the tools, calls one twice, and lists them again. A fault strikes the calls alone."""

import os
import sys
from dataclasses import dataclass

import pytest

import loop as ways
import tool_fault_table as table
from test_mcp import looms

WORD = "weft: part of a loom"
TOOLS = ["look_up", "tear", "weave"]
PATIENCE = 3  # seconds: the timeout of a call, as in the programs
TIMED_OUT = -32001
PROGRAMS = {"Python": "mcp_faults.py", "TypeScript": "mcp_faults.mjs"}


@dataclass(frozen=True)
class Case:
    """A fault of tools."""

    #: Its row in the table.
    title: str
    #: The fault as a flag.
    fault: str
    #: Whether the second call gets the answer, as its row says.
    recovers: bool = False
    #: Whether the fault comes at the first call alone.
    once: bool = False
    #: Whether the server is gone after it: over stdio, and for a client that ends with it.
    ends: bool = False


CASES = [
    Case("`none`, `slow:300`", "none", recovers=True),
    Case("`none`, `slow:300`", "slow:300", recovers=True),
    Case("`hang`, `wedged`", "hang"),
    Case("`hang`, `wedged`", "wedged"),
    Case("`recover-after:1`", "recover-after:1", recovers=True),
    Case("`http_error:503`", "http_error:503"),
    Case("`malformed_response`", "malformed_response"),
    Case("`connection_reset`, `tool_result_fault:server_dies`", "connection_reset", ends=True),
    Case("`connection_reset`, `tool_result_fault:server_dies`", "tool_result_fault:server_dies", ends=True),
    *(Case(f"`tool_result_fault:{mode}`", f"tool_result_fault:{mode};times=1", once=True)
      for mode in ("tool_error", "malformed_result", "schema_violation", "wrong_content")),
]
#: What messages say: a cell has the first of these that is in its message.
SAID = ("timed out", "503", "JSON", "closed", "fetch failed", "required", "of type", "must be", "failed")


def recorded_run(loomrec, column: str, recording) -> tuple[list[str], dict]:
    """Records the client of a column. Returns its command, and what it saw."""
    sdk, transport = column.split(", ")
    if transport == "stdio":
        server = [sys.executable, str(ways.PROGRAMS / "mcp_server.py"), "--stdio"]
        line = ways.command(PROGRAMS[sdk], loomrec.binary, "mcp", "--name", "tools", "--", *server)
        recorded = loomrec.record(recording, "http://127.0.0.1:9", line)
    else:
        line = ways.command(PROGRAMS[sdk])
        with looms() as tools:
            recorded = loomrec.record(recording, "http://127.0.0.1:9", line, tools)
    assert recorded.code == 0, recorded.stderr
    return line, recorded.document


def shown(call: dict) -> str:
    """What a call came to, in words."""
    if "class" in call:
        is_late = call["seconds"] >= PATIENCE
        assert is_late == (call["code"] == TIMED_OUT), f"only its own timeout takes as long: {call}"
        code = "" if call["code"] is None else f" {call['code']}"
        return f"`{call['class']}`{code} ({said(call['message'])})"
    if call["is_error"]:
        return f"`isError` ({said(*call['text'])})"
    return "the answer" if call["text"] == [WORD] else f"**no error**: {call['text']}"


def said(message: str) -> str:
    """Words of a message."""
    return next(words for words in SAID if words in message)


def cell(case: Case, replayed: ways.Outcome) -> str:
    """What the client showed; asserts all that no cell says."""
    assert replayed.receipt["missed"] == 0, replayed.stderr
    fired = replayed.receipt["faults"]["fired"] if case.fault != "none" else 0
    if case.ends and replayed.code != 0:
        # The exception of a task of the client ends the whole client.
        assert fired == 1 and "ExceptionGroup" in replayed.stderr, replayed.stderr
        return f"`{last_exception(replayed.stderr)}` ends the client"
    assert replayed.code == 0, replayed.stderr
    seen = replayed.document
    first, second = seen["calls"]
    assert seen["before"]["tools"] == TOOLS, seen
    if case.ends and "tools" not in seen["after"]:
        assert fired == 1 and "class" in second, f"its server is gone: {seen}"
        return shown(first)
    assert seen["after"]["tools"] == TOOLS, f"the server is not responsive: {seen}"
    if case.fault == "none":
        assert fired == 0
    elif case.fault == "slow:300":
        assert fired == 2 and min(first["seconds"], second["seconds"]) >= 0.3, seen
    elif case.once or case.recovers:
        assert fired == 1 and shown(second) == "the answer", seen
    else:
        assert fired == 2 and shown(first) == shown(second), seen
    if case.fault in ("hang", "wedged"):
        assert first["seconds"] >= PATIENCE, seen
    then = ", then the answer" if case.recovers and shown(first) != "the answer" else ""
    return shown(first) + then


def last_exception(stderr: str) -> str:
    """The class of the last exception of a traceback."""
    lines = [line.strip(" |+-") for line in stderr.split("loomrec replay:")[0].splitlines()]
    return next(line for line in reversed(lines) if line).split(":")[0]


@pytest.mark.parametrize("column", table.COLUMNS)
def test_each_fault_of_a_tool_is_shown_as_the_table_says(column, loomrec, tmp_path):
    recording = tmp_path / "recording.json"
    line, seen = recorded_run(loomrec, column, recording)
    assert [shown(call) for call in seen["calls"]] == ["the answer"] * 2, seen
    cells = {}
    for case in CASES:
        came = cell(case, loomrec.replay(recording, line, "--fault", case.fault))
        assert cells.setdefault(case.title, came) == came, f"{case.fault} has a row of its own"
    table.check_column(column, cells)


@pytest.mark.skipif("WRITE_TABLES" in os.environ, reason="it is being written")
def test_table_has_only_faults_that_are_tried():
    assert [*table.rows()] == [*dict.fromkeys(case.title for case in CASES)], table.HOW
