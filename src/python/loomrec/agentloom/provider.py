"""A provider whose calls go to loomrec."""

from __future__ import annotations

import contextlib
import logging
import time
from collections.abc import AsyncIterator
from typing import Any

from agentloom.providers.base import BaseProvider, ProviderResponse, StreamResponse

from loomrec.agentloom.call import CURRENT_CALL, CURRENT_STEP, ProviderCall
from loomrec.agentloom.fault_exception import fault_exception
from loomrec.agentloom.journal_reader import JournalReader
from loomrec.agentloom.mismatch import RecordingMismatchError
from loomrec.agentloom.workflow_scope import (
    MISMATCH_SCOPE, UNKNOWN, LoomrecBackedProvider, observer_in_force,
)
from loomrec.journal import JournalLine

logger = logging.getLogger("loomrec.agentloom")

#: AgentLoom's words for what found an answer.
_MATCHED_BY = dict.fromkeys(
    ("request_hash", "bound", "agentloom_hash", "agentloom_messages"), "prompt_hash")


class LoomrecProvider(LoomrecBackedProvider):
    """One of AgentLoom's providers, its client pointed at loomrec.

    `calls` has an entry for each call: `step_id`, `model`, `messages`, `matched`, `matched_by`
    as AgentLoom's mock has them, and `outcome` and `fault` as the journal has them.
    """

    def __init__(
        self,
        wrapped: BaseProvider,
        journal: JournalReader,
        *,
        calls: list[dict[str, Any]] | None = None,
        mismatches: list[RecordingMismatchError] | None = None,
        observer: Any | None = None,
        workflow_name: str | None = None,
    ) -> None:
        super().__init__(api_key=wrapped.api_key, base_url=wrapped.base_url)
        self.name = wrapped.name
        self._wrapped = wrapped
        self._journal = journal
        self._observer = observer
        self._workflow_name = workflow_name
        self.calls: list[dict[str, Any]] = [] if calls is None else calls
        self.mismatches: list[RecordingMismatchError] = [] if mismatches is None else mismatches

    async def complete(
        self,
        messages: list[dict[str, Any]],
        model: str,
        temperature: float | None = None,
        max_tokens: int | None = None,
        **kwargs: Any,
    ) -> ProviderResponse:
        """Returns the answer.

        Raises `RecordingMismatchError` for a miss, and what a fault names for a fault.
        """
        return (await self.complete_with_line(messages, model, temperature, max_tokens, **kwargs))[0]

    async def complete_with_line(
        self,
        messages: list[dict[str, Any]],
        model: str,
        temperature: float | None = None,
        max_tokens: int | None = None,
        **kwargs: Any,
    ) -> tuple[ProviderResponse, JournalLine | None]:
        """Returns the answer, and the journal's line of it."""
        call, started = self._begin(messages, model, kwargs), time.perf_counter()
        token = CURRENT_CALL.set(call)
        try:
            response = await self._wrapped.complete(
                messages=messages, model=model, temperature=temperature, max_tokens=max_tokens,
                **kwargs,
            )
        except Exception as error:
            await self._fail(call, error)
            raise
        finally:
            CURRENT_CALL.reset(token)
        line = await self._journal.line_of(call)
        self._note(call, line, response.model, time.perf_counter() - started)
        return response, line

    async def stream(
        self,
        messages: list[dict[str, Any]],
        model: str,
        temperature: float | None = None,
        max_tokens: int | None = None,
        **kwargs: Any,
    ) -> StreamResponse:
        """Returns the answer as a stream; its iteration raises what `complete` raises."""
        call, started = self._begin(messages, model, kwargs), time.perf_counter()
        token = CURRENT_CALL.set(call)
        try:
            response = await self._wrapped.stream(
                messages=messages, model=model, temperature=temperature, max_tokens=max_tokens,
                **kwargs,
            )
        except Exception as error:
            await self._fail(call, error)
            raise
        finally:
            CURRENT_CALL.reset(token)
        for name in ("_iterator", "_event_iterator"):
            inner = getattr(response, name, None)
            if inner is not None:
                setattr(response, name, _CallStream(inner, self, call, response, started))
        return response

    def supports_model(self, model: str) -> bool:
        return self._wrapped.supports_model(model)

    async def close(self) -> None:
        await self._wrapped.close()

    def _begin(self, messages: list[dict[str, Any]], model: str, kwargs: dict[str, Any]) -> ProviderCall:
        """Notes a call. Takes the step id out of `kwargs`: a provider may refuse to know it."""
        step_id = kwargs.pop("step_id", None) or CURRENT_STEP.get()
        entry = {
            "step_id": step_id, "model": model, "messages": messages, "matched": False,
            "matched_by": "default", "outcome": None, "fault": None,
        }
        self.calls.append(entry)
        workflow = observer_in_force(self._observer, self._workflow_name)[1]
        return ProviderCall(self.name, step_id, model, entry, None if workflow == UNKNOWN else workflow)

    async def _fail(self, call: ProviderCall, error: Exception) -> None:
        """Raises what a call that failed is to raise, if that is not the error itself.

        A miss ends the step that it happened in, if there is one.
        """
        line = await self._journal.line_of(call) if call.path is not None else None
        self._note(call, line, call.model, 0.0)
        if not isinstance(error, RecordingMismatchError):
            fault = call.fault if line is None else line["fault"]
            named = fault_exception(self.name, fault, error) if fault else error
            if named is not error:
                raise named from error
            return
        details = line["mismatch"] if line is not None else None
        mismatch = RecordingMismatchError(self.name, error.args[0], details)
        self.mismatches.append(mismatch)
        scope = MISMATCH_SCOPE.get()
        if scope is not None:
            await scope.end(mismatch)
        raise mismatch from error

    def _note(
        self, call: ProviderCall, line: JournalLine | None, model: str, latency_s: float
    ) -> None:
        """Completes the call's entry, and tells the observer."""
        entry = call.entry
        found = call.matched_by if line is None else line["matched_by"]
        outcome = None if line is None else line["outcome"]
        fault = call.fault if line is None else line["fault"]
        if found is None and fault is not None and fault.get("source") == "entry":
            found = "step_id" if call.step_id else "request_hash"
        entry["matched"] = found not in (None, "default")
        entry["matched_by"] = _MATCHED_BY.get(found, found) if found else "default"
        entry["outcome"], entry["fault"] = outcome, fault and fault["type"]
        observer, workflow_name = observer_in_force(self._observer, self._workflow_name)
        if observer is None:
            return
        # An observer must never break a call.
        with contextlib.suppress(Exception):
            if outcome == "recorded":
                observer.on_recording_capture(call.step_id or "", self.name, model, latency_s)
            elif found is not None or outcome in ("missed", "default"):
                observer.on_mock_replay(workflow_name, call.step_id or "", entry["matched_by"])
            if fault is not None:
                _note_fault(observer, call.step_id, fault["type"])


def _note_fault(observer: Any, step_id: str | None, kind: str) -> None:
    """Tells the observer of a fault, and puts it into the step's span."""
    hook = getattr(observer, "on_mock_fault", None)
    if hook is not None:
        hook(step_id or "", kind)
    span = getattr(observer, "_step_spans", {}).get(step_id)
    if span is not None:
        span.set_attribute("mock.fault_type", kind)


class _CallStream:
    """The chunks of a streamed answer. Each is read within its call."""

    def __init__(
        self,
        inner: AsyncIterator[Any],
        provider: LoomrecProvider,
        call: ProviderCall,
        response: StreamResponse,
        started: float,
    ) -> None:
        self._inner = inner
        self._provider = provider
        self._call = call
        self._response = response
        self._started = started
        self._is_over = False

    def __aiter__(self) -> _CallStream:
        return self

    async def __anext__(self) -> Any:
        token = CURRENT_CALL.set(self._call)
        try:
            return await anext(self._inner)
        except StopAsyncIteration:
            await self._end()
            raise
        except Exception as error:
            self._is_over = True
            await self._provider._fail(self._call, error)
            raise
        finally:
            CURRENT_CALL.reset(token)

    async def _end(self) -> None:
        if self._is_over:
            return
        self._is_over = True
        line = await self._provider._journal.line_of(self._call)
        latency = time.perf_counter() - self._started
        self._provider._note(self._call, line, self._response.model, latency)

    async def aclose(self) -> None:
        """Ends the stream. One that was not read to its end is told by its headers alone."""
        if not self._is_over:
            self._is_over = True
            self._provider._note(self._call, None, self._call.model, 0.0)
        close = getattr(self._inner, "aclose", None)
        if close is not None:
            await close()
