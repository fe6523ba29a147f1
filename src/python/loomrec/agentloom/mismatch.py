"""The exception for a call that no recording answers."""

from __future__ import annotations

import json
from typing import Any

from agentloom import exceptions

# AgentLoom's own exception, where its version has one: what catches that catches ours.
_AgentLoomError: Any = getattr(exceptions, "RecordingMismatchError", exceptions.ProviderError)


class RecordingMismatchError(_AgentLoomError):  # type: ignore[misc]
    """No recording answers a call. Trying again cannot help."""

    def __init__(self, provider: str, message: str, mismatch: dict[str, Any] | None = None) -> None:
        # The base's own constructor may differ between versions: it is not called.
        Exception.__init__(self, _with_differences(message, mismatch or {}))
        self.provider = provider
        #: What AgentLoom's retry policies look at: 422 is none of the codes they retry.
        self.status_code = 422
        #: Why: `unknown request`, `drifted`, `exhausted` and so on; `None` if that is not known.
        self.reason: str | None = (mismatch or {}).get("reason")
        #: All that the journal says of the miss.
        self.mismatch = mismatch or {}

    def __str__(self) -> str:
        return str(self.args[0])


def _with_differences(message: str, mismatch: dict[str, Any]) -> str:
    """Returns the message, and below it a line for each difference that it does not name."""
    nearest = mismatch.get("nearest") or {}
    lines = [message]
    for difference in nearest.get("differences") or []:
        pointer = difference.get("pointer")
        if pointer is None or f"{pointer}:" in message:
            continue
        recorded, now = difference.get("recorded"), difference.get("now")
        lines.append(f"  {pointer}: recorded {recorded or 'nothing'}, now {now or 'nothing'}")
    return "\n".join(lines)


def error_text(body: str) -> str:
    """Returns the message of an error body, in whichever provider's shape it is."""
    try:
        parsed = json.loads(body)
    except ValueError:
        return body
    error = parsed.get("error", parsed) if isinstance(parsed, dict) else parsed
    message = error.get("message") if isinstance(error, dict) else error
    return message if isinstance(message, str) else body
