"""Changes the argument of a recorded tool call, in a copy of a recording.

The agent that gets this answer sends a history with another argument than the recorded one.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

#: A string of an event that holds a part of an argument or of a text.
PART = re.compile(r'"(?:partial_json|arguments|delta|content|text)": "((?:[^"\\]|\\.)*)"')


def change_argument(recording: Path, edited: Path, old: str, new: str) -> None:
    """Writes a copy of the recording whose first answer with the text `old` has `new`.

    Both have the same length, and no letter that JSON escapes. Fails if no answer has the text.
    """
    if len(old) != len(new) or json.dumps(old) != f'"{old}"':
        raise ValueError(f"{old!r} cannot be replaced by {new!r}")
    document = json.loads(recording.read_text())
    entries = [entry for key, entry in document.items() if not key.startswith("_")]
    answer = next((entry for entry in sorted(entries, key=lambda entry: entry["recorded_at"])
                   if old in json.dumps(summary(entry))), None)
    if answer is None:
        raise ValueError(f"no answer of {recording} has {old!r}")
    for field in summary(answer):
        answer[field] = replace_text(answer[field], old, new)
    response = answer["response"]
    if "chunks" in response:
        response["chunks"] = replace_in_chunks(response["chunks"], old, new)
    else:
        response["body"] = replace_text(response["body"], old, new)
    edited.parent.mkdir(parents=True, exist_ok=True)
    edited.write_text(json.dumps(document, indent=2, ensure_ascii=False) + "\n")


def summary(entry: dict) -> dict:
    """Returns the fields that sum up the answer for people."""
    return {field: entry[field] for field in ("content", "tool_calls") if field in entry}


def replace_text(value, old: str, new: str):
    """Replaces a text in all strings of a JSON value."""
    return json.loads(json.dumps(value).replace(old, new))


def replace_in_chunks(chunks: list, old: str, new: str) -> list:
    """Replaces a text in a stream, where it may be in one event or spread over several."""
    stream = "".join(text for _, text in chunks).replace(old, new)
    offsets = [offset for part in PART.finditer(stream) for offset in range(*part.span(1))]
    letters = list(stream)
    spread = "".join(letters[offset] for offset in offsets)
    for found in re.finditer(re.escape(old), spread):
        for at, letter in zip(range(*found.span()), new):
            letters[offsets[at]] = letter
    edited, at = "".join(letters), 0
    if edited == "".join(text for _, text in chunks):
        raise ValueError(f"the stream does not have {old!r}")
    result = []
    for time, text in chunks:
        result.append([time, edited[at:at + len(text)]])
        at += len(text)
    return result
