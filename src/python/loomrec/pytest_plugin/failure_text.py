"""What the plug-in says about a test whose calls were not as they must be."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from loomrec.sessions import SessionState

#: How many missed calls of a test are shown in full, and how many differences of each.
_MOST_SHOWN = 5
#: The most characters of a value that differs.
_MOST_CHARACTERS = 300


def missing_recording(recording: str, argument: str) -> str:
    """The test made a call, and has no recording."""
    return f"there is no recording {recording}: run `{record_command(argument)}` once"


def missing_server() -> str:
    """The test is marked, and nothing said so before its module was imported. A server that starts
    now is too late for the clients that the module has built: they call the provider."""
    return (
        "there was no server when this test was imported, since neither test modules nor a"
        " conftest.py mention loomrec: mention it in a conftest.py, add [tool.loomrec.pytest] to"
        " pyproject.toml, or run pytest --loomrec=replay"
    )


def record_command(argument: str) -> str:
    """The command that records one test anew, which `argument` chooses."""
    return f"pytest --loomrec=record {shlex.quote(argument)}"


def describe_misses(state: SessionState, exists: bool, recording: str, argument: str) -> str:
    """The missed calls of a test with their differences, and what to do."""
    calls = "call has" if state.missed == 1 else "calls have"
    lines = [f"{state.missed} {calls} no recorded answer"]
    if not exists:
        return "\n".join([*lines, missing_recording(recording, argument)])
    for mismatch in state.mismatches[:_MOST_SHOWN]:
        lines += _describe_miss(mismatch)
    if state.missed > _MOST_SHOWN:
        lines.append(f"and {state.missed - _MOST_SHOWN} more")
    lines.append(f"If the change is meant: {record_command(argument)}")
    return "\n".join(lines)


def describe_complaints(state: SessionState) -> str:
    """Why the verdict is not `ok`, and which faults the test did not recover from in time."""
    lines = state.complaints or [f"verdict: {state.verdict}"]
    for fault in (state.receipt.get("recovery") or {}).get("faults") or []:
        name = f"{fault.get('type')} ({fault.get('rule')})"
        lines += [f"  {name}: {why}" for why in fault.get("missed") or []]
    return "\n".join(lines)


def describe_untested(state: SessionState) -> str:
    """Which faults never happened."""
    unfired = (state.receipt.get("faults") or {}).get("unfired") or []
    if not unfired:
        return describe_complaints(state)
    names = ", ".join(map(str, unfired))
    return f"never happened: {names} (allow_unfired=True of the mark permits that)"


def headline(text: str) -> str:
    """The beginning of every failure that the plug-in reports itself."""
    return f"loomrec: {text}"


def _describe_miss(mismatch: Mapping[str, Any]) -> Iterator[str]:
    yield (f"{mismatch.get('reason')}: {mismatch.get('method')} {mismatch.get('path')} to"
           f" {mismatch.get('upstream')}, request {str(mismatch.get('request_hash'))[:12]}")
    nearest = mismatch.get("nearest") or {}
    if not nearest:
        return
    hash_ = str(nearest.get("request_hash") or nearest.get("entry"))[:12]
    yield f"  nearest recorded call: {hash_}"
    differences = nearest.get("differences") or []
    for difference in differences[:_MOST_SHOWN]:
        yield f"    {difference.get('pointer')}"
        recorded, now = _shorten(difference.get("recorded"), difference.get("now"))
        yield f"      recorded {recorded}"
        yield f"      now      {now}"
    if len(differences) > _MOST_SHOWN:
        yield f"    and {len(differences) - _MOST_SHOWN} more differences"


def _shorten(recorded: Any, now: Any) -> tuple[str, str]:
    """Both texts, cut so that the place where they begin to differ is shown."""
    left, right = _text(recorded), _text(now)
    start = next((i for i, (a, b) in enumerate(zip(left, right)) if a != b), 0)
    start = max(0, start - _MOST_CHARACTERS // 3)
    return _cut(left, start), _cut(right, start)


def _text(value: Any) -> str:
    return "nothing" if value is None else str(value)


def _cut(text: str, start: int) -> str:
    if len(text) <= _MOST_CHARACTERS:
        return text
    end = start + _MOST_CHARACTERS
    return ("…" if start else "") + text[start:end] + ("…" if end < len(text) else "")
