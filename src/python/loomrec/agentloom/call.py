"""One call of a provider, and the HTTP client hooks that follow it."""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any

import httpx

from loomrec.agentloom.mismatch import RecordingMismatchError, error_text

#: The step that runs, as AgentLoom's engine or the caller of the gateway named it.
CURRENT_STEP: ContextVar[str | None] = ContextVar("loomrec_step", default=None)

#: The call whose request is sent, or whose answer is read.
CURRENT_CALL: ContextVar[ProviderCall | None] = ContextVar("loomrec_call", default=None)


@dataclass
class ProviderCall:
    """What is known of a call: what was asked, and what loomrec's headers say of the answer."""

    provider: str
    step_id: str | None
    model: str
    #: What `provider.calls` holds of it; completed when the call is over.
    entry: dict[str, Any]
    #: The workflow that runs; a label of AgentLoom's metrics.
    workflow: str | None = None
    path: str | None = None
    sent_at: datetime = field(default_factory=lambda: datetime.now(timezone.utc))
    status: int | None = None
    matched_by: str | None = None
    #: The type of the fault, and the rule that it came by; the journal has more.
    fault: dict[str, str] | None = None


async def send_step(request: httpx.Request) -> None:
    """A request hook: adds the step id, and a key where AgentLoom has none."""
    call = CURRENT_CALL.get()
    if call is None:
        return
    call.path = request.url.path
    call.sent_at = datetime.now(timezone.utc)
    if call.step_id:
        request.headers["x-loomrec-step-id"] = call.step_id
    if call.workflow:
        request.headers.encoding = "utf-8"
        request.headers["x-loomrec-workflow"] = " ".join(call.workflow.split())
    # Without a key AgentLoom sends `Bearer `, which no HTTP client may send.
    if request.headers.get("authorization", "").strip() == "Bearer":
        request.headers["authorization"] = "Bearer loomrec-replay-stand-in"


async def receive_answer(response: httpx.Response) -> None:
    """A response hook: keeps what loomrec says of the answer; raises a miss."""
    call = CURRENT_CALL.get()
    if call is None:
        return
    call.status = response.status_code
    call.matched_by = response.headers.get("x-loomrec-matched-by")
    kind = response.headers.get("x-loomrec-fault")
    if kind is not None:
        rule = response.headers.get("x-loomrec-fault-rule", "")
        call.fault = {"type": kind, "rule": rule}
    if response.headers.get("x-loomrec-error") == RecordingMismatchError.__name__:
        await response.aread()
        raise RecordingMismatchError(call.provider, error_text(response.text))
