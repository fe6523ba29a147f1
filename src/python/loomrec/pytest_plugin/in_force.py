"""What a replay goes by besides the recorded requests, as the receipts of its sessions say."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

#: Members of `in_force` that list rules, and what they do.
_RULES = {
    "ignore": "ignored",
    "ignore_headers": "ignored header",
    "identity_headers": "also compared header",
    "normalize": "renamed",
    "credential_params": "taken out as a credential",
    "repeat": "repeats",
    "script": "script",
    "set_aside": "set aside by --strict",
}
#: Members that count entries which answer in another way.
_ENTRIES = {
    "faults": "entries with faults",
    "unchecked": "entries that cannot be checked",
    "by_messages": "entries that answer by the messages of a call alone",
}


def describe_in_force(in_force: Mapping[str, Any] | None) -> Iterator[str]:
    """Returns what is in force, one text each; nothing for a replay by its recording alone."""
    in_force = in_force or {}
    for member, what in _RULES.items():
        for item in in_force.get(member) or []:
            yield f"{what} {_words(item)}"
    for member, what in _ENTRIES.items():
        number = (in_force.get(member) or {}).get("entries") or 0
        if number:
            yield f"{what}: {number}"


def foreign_control(in_force: Mapping[str, Any] | None, asked: Iterable[str]) -> list[str]:
    """Returns what control calls changed that were not the plug-in's: the tests made them.

    `asked` names the members of sessions that the plug-in asked for, once for each time.
    """
    own = Counter(f"{member} of a session" for member in asked)
    changed = [(str(item["asked"]), int(item["times"])) for item in (in_force or {}).get("control") or []]
    return [name for name, times in changed if times > own[name]]


def in_force_line(texts: Iterable[str]) -> str | None:
    """The line that says what is in force, with the number of tests for each; None for nothing."""
    counted = Counter(texts)
    if not counted:
        return None
    named = (f"{text} ({number} {'test' if number == 1 else 'tests'})"
             for text, number in sorted(counted.items()))
    return "in force: " + " · ".join(named)


def _words(item: Any) -> str:
    if not isinstance(item, Mapping):
        return str(item)
    first, *others = [str(value) for value in item.values()]
    return f"{first} ({', '.join(others)})" if others else first
