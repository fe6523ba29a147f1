"""Every fault that the SDKs are shown, and how what they do is told in docs/faults.md.

`walk` shows one SDK all of them; `render` writes the tables of what was seen.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import loop as ways

ROOT = Path(__file__).parents[2]
SEEN = Path(__file__).parent / "faults_seen.json"
DOCUMENT = ROOT / "docs/faults.md"
BEGIN, END = "<!-- what SDKs do: begin -->", "<!-- what SDKs do: end -->"
PROGRAMS = {
    "openai-python": "openai_faults.py",
    "anthropic-python": "anthropic_faults.py",
    "openai-node": "node_faults.mjs",
    "google-genai": "genai_faults.py",
}
SHORT = 1  # seconds: the client's timeout where a fault makes it wait


@dataclass(frozen=True)
class Case:
    """A fault, and the kind of call that meets it."""

    fault: str
    ask: str = "complete"
    timeout: float | None = None

    @property
    def name(self) -> str:
        return f"{self.fault} {self.ask}"

    def document(self) -> dict:
        told = {"name": self.name, "fault": self.fault, "ask": self.ask}
        return told | ({} if self.timeout is None else {"timeout": self.timeout})


CASES = [
    Case("timeout:300"),
    Case("timeout:5000", timeout=SHORT),
    Case("hang", timeout=SHORT),
    Case("wedged", timeout=SHORT),
    Case("slow:300"),
    Case("recover_after:1;fault=http_error:503"),
    *(Case(f"http_error:{status}") for status in (400, 401, 404, 408, 409, 413, 429, 500, 502, 503, 504, 529)),
    Case("http_error:429;x_should_retry=false"),
    Case("http_error:400;x_should_retry=true"),
    Case("connection_reset"),
    Case("connection_drop"),
    Case("disconnect"),
    Case("drop"),
    Case("malformed"),
    Case("malformed_response"),
    Case("stream_truncate"),
    Case("stream_truncate;raise=close"),
    Case("stream_truncate;raise=error_event"),
    Case("stream_truncate;raise=stall", timeout=SHORT),
    Case("wrong_length:10"),
    Case("wrong_length:-10"),
    Case("bad_encoding"),
    Case("throttle:2000"),
    Case("slice:7"),
    Case("partial_response"),
    *(Case(f"tool_call_fault:{mode}", "tool")
      for mode in ("invalid_json", "missing_argument", "unknown_tool", "wrong_type")),
    Case("malformed", "streamed"),
    Case("malformed_response", "streamed"),
    *(Case(f"stream_truncate:5{how}", "streamed")
      for how in ("", ";raise=close", ";raise=clean_eof", ";raise=error_event")),
    Case("stream_truncate:5;raise=stall", "streamed", SHORT),
    Case("stream_stall:3;for_ms=300", "streamed"),
    Case("throttle:4000", "streamed"),
    Case("slice:5", "streamed"),
    *(Case(f"stream_garble:4;how={how}", "streamed")
      for how in ("broken_data", "duplicated", "reordered", "dropped", "missing_terminator")),
    Case("bad_encoding", "streamed"),
    Case("partial_response", "streamed"),
    Case("tool_call_fault", "tool_streamed"),
]


def walk(loomrec: ways.Loomrec, upstream, sdk: str, where: Path) -> tuple[dict, dict, dict]:
    """Shows an SDK every fault. Gives what it says without any, what it did (with the
    attempts that loomrec's journal counts) where a fault comes at every attempt, and
    where it comes once."""
    program = PROGRAMS[sdk]
    recording = where / "recording.json"
    recorded = loomrec.record(recording, upstream.url, ways.command(program))
    assert recorded.code == 0, recorded.stderr
    seen = []
    for once in (False, True):
        cases = [case.document() for case in CASES]
        if once:
            cases = [case | {"fault": f"recover_after:1;fault={case['fault']}"}
                     for case in cases if not case["fault"].startswith("recover_after")]
        task, journal = where / f"task-{once}.json", where / f"journal-{once}.jsonl"
        task.write_text(json.dumps({"cases": cases, "once": once}), encoding="utf-8")
        replayed = loomrec.replay(recording, ways.command(program, str(task)), "--repeat", "last",
                                  "--journal", str(journal))
        assert replayed.code == 0, replayed.stderr
        calls = calls_by_session(journal)
        seen.append({name: it | {"attempts": calls[name] - ("then" in it)}
                     for name, it in replayed.document.items()})
    return recorded.document, *seen


def calls_by_session(journal: Path) -> Counter:
    """How many calls of each session loomrec has seen."""
    lines = [json.loads(line) for line in journal.read_text(encoding="utf-8").splitlines()]
    return Counter(line["session"] for line in lines if "method" in line)


def noted(plain: dict, always: dict) -> dict:
    """What is kept of what an SDK did, case by case."""
    kept = {}
    for case in CASES:
        seen = always[case.name]
        if "raises" in seen:
            outcome = {"raises": seen["raises"]}
        elif seen.get("waits"):
            outcome = {"waits": True}
        else:
            outcome = {"answer": differences(plain[case.ask], seen["got"])}
        kept[case.name] = outcome | {"attempts": seen["attempts"], "ms": seen["ms"]}
    return kept


def differences(plain: dict, got: dict) -> str:
    """How an answer differs from the recorded one, in words; `whole` where it does not."""
    told = [_text(plain["text"], got["text"])]
    if got["finish"] != plain["finish"]:
        told.append(f"finish reason `{got['finish']}`" if got["finish"] else "no finish reason")
    if got["out"] != plain["out"] and got["out"] is not None:
        told.append(f"{got['out']} tokens out")
    told += [_tool(a, b) for a, b in zip(plain["tools"], got["tools"])]
    if len(plain["tools"]) != len(got["tools"]):
        told.append(f"{len(got['tools'])} of {len(plain['tools'])} tool calls")
    return ", ".join(it for it in told if it) or "whole"


def _text(plain: str, got: str) -> str:
    if got == plain:
        return ""
    if plain.startswith(got):
        return "a part of the text" if got else "no text"
    if Counter(got) == Counter(plain):
        return "text out of order"
    return "text with a piece twice" if len(got) > len(plain) else "text with a piece missing"


def _tool(plain: list, got: list) -> str:
    if got[0] != plain[0]:
        return f"tool `{got[0]}`"
    had, has = _arguments(plain[1]), _arguments(got[1])
    if has == had:
        return ""
    if not isinstance(has, dict):
        return "arguments that do not parse" if has is None else "arguments that are no object"
    missing = [name for name in had if name not in has]
    if missing:
        return f"no argument `{missing[0]}`"
    changed = next(name for name in had if had[name] != has[name])
    return f"argument `{changed}` of another type"


def _arguments(told):
    if not isinstance(told, str):
        return told
    try:
        return json.loads(told)
    except ValueError:
        return None


def versions() -> dict[str, str]:
    """The SDKs and the versions that are pinned."""
    python = (Path(__file__).parent / "requirements.txt").read_text(encoding="utf-8")
    pinned = dict(line.split(";")[0].strip().split("==") for line in python.splitlines() if "==" in line)
    node = json.loads((Path(__file__).parent / "package.json").read_text(encoding="utf-8"))["dependencies"]
    return {"openai-python": pinned["openai"], "anthropic-python": pinned["anthropic"],
            "openai-node": node["openai"], "google-genai": pinned["google-genai"]}


HEADINGS = {
    "Complete answers": ("complete",),
    "Streams": ("streamed",),
    "Answers that call a tool": ("tool", "tool_streamed"),
}


def render(seen: dict[str, dict]) -> str:
    """The tables, for people. Faults that every SDK meets in the same way share a row."""
    sdks = list(PROGRAMS)
    lines = ["Seen with " + ", ".join(f"{sdk} {version}" for sdk, version in versions().items()) + "."]
    for heading, asks in HEADINGS.items():
        lines += ["", f"### {heading}", "", f"| fault | {' | '.join(sdks)} |", "|---" * (len(sdks) + 1) + "|"]
        rows: dict[str, list[str]] = {}
        for case in CASES:
            if case.ask in asks:
                cells = [_cell(sdk, seen[sdk][case.name]) for sdk in sdks]
                cells = [cells[0], *(_unless_same(*pair) for pair in zip(cells, cells[1:]))]
                name = f"`{case.fault}`" + (" *" if case.timeout else "")
                name += " in a stream" if case.ask == "tool_streamed" else ""
                rows.setdefault(" | ".join(cells), []).append(name)
        lines += [f"| {', '.join(names)} | {cells} |" for cells, names in rows.items()]
    return "\n".join(lines)


def _unless_same(left: str, cell: str) -> str:
    """A cell, or `same` in place of words that stand to its left."""
    return "same" if cell == left and cell.startswith("**no error**") else cell


def _cell(sdk: str, did: dict) -> str:
    if did.get("waits"):
        return "**waits on**"
    if "raises" in did:
        what = f"`{did['raises'].removeprefix(sdk.split('-')[0] + '.')}`"
    else:
        what = "the answer" if did["answer"] == "whole" else f"**no error**: {did['answer']}"
    return what + (f" ×{did['attempts']}" if did["attempts"] > 1 else "")


def in_document(tables: str) -> str:
    """The document with these tables in it."""
    text = DOCUMENT.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    return f"{before}{BEGIN}\n\n{tables}\n\n{END}{rest.split(END)[1]}"
