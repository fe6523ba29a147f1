"""What runs around a call: AgentLoom's step, and what a miss ends.

AgentLoom 0.4.0 does not tell a provider which step asks, and every version turns any exception
of a provider into a failed attempt, to be retried and to be sent to the fallback. So the engine's
step and the gateway's call are entered through functions of this module. A gateway that has no
provider of loomrec's works as before.
"""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

import anyio
import anyio.lowlevel
from agentloom.core.engine import WorkflowEngine
from agentloom.core.results import StepResult, StepStatus
from agentloom.providers.base import BaseProvider
from agentloom.providers.gateway import ProviderGateway

from loomrec.agentloom.call import CURRENT_STEP
from loomrec.server import LoomrecError


class LoomrecBackedProvider(BaseProvider):
    """A provider whose calls go to loomrec."""


@dataclass
class MismatchScope:
    """What a miss ends: a step with its retries, or a gateway's call with its fallbacks."""

    cancel_scope: anyio.CancelScope = field(default_factory=anyio.CancelScope)
    mismatch: Exception | None = None

    async def end(self, mismatch: Exception) -> None:
        """Ends the scope. Does not return: what runs within the scope is cancelled."""
        self.mismatch = self.mismatch or mismatch
        self.cancel_scope.cancel()
        await anyio.lowlevel.checkpoint()


#: The outermost scope around the call.
MISMATCH_SCOPE: ContextVar[MismatchScope | None] = ContextVar("loomrec_scope", default=None)

#: AgentLoom's name of a workflow that nobody names.
UNKNOWN = "unknown"

#: The engine's or the gateway's observer, and the workflow's name.
_OBSERVED: ContextVar[tuple[Any | None, str]] = ContextVar("loomrec_observed", default=(None, UNKNOWN))


def observer_in_force(observer: Any | None, workflow_name: str | None) -> tuple[Any | None, str]:
    """Returns the observer and the workflow's name: those given, or else those that run."""
    running, name = _OBSERVED.get()
    return observer if observer is not None else running, workflow_name or name


def install() -> None:
    """Enters AgentLoom's steps and gateway calls through this module, from now on."""
    _replace(WorkflowEngine, "_execute_step", _execute_step)
    _replace(ProviderGateway, "complete", _complete)
    _replace(ProviderGateway, "stream", _stream)


def _replace(owner: type, name: str, around: Callable[..., Any]) -> None:
    original = getattr(owner, name, None)
    if original is None:
        raise LoomrecError(f"this version of AgentLoom has no {owner.__name__}.{name}; 0.4.0 has one")
    if getattr(original, "_is_loomrec", False):
        return

    @functools.wraps(original)
    async def replacement(self: Any, *arguments: Any, **more: Any) -> Any:
        return await around(original, self, *arguments, **more)

    replacement._is_loomrec = True  # type: ignore[attr-defined]
    setattr(owner, name, replacement)


def _is_loomrec(gateway: Any) -> bool:
    entries = getattr(gateway, "_providers", ())
    link = getattr(gateway, "_loomrec_link", None)
    if link is not None:
        link.wrap_providers()
    return any(isinstance(entry.provider, LoomrecBackedProvider) for entry in entries)


async def _execute_step(original: Callable[..., Any], engine: Any, step_id: str) -> None:
    """Runs a step with its id in `CURRENT_STEP`. A miss ends it as failed, without a retry."""
    started = time.monotonic()
    with contextlib.ExitStack() as values:
        _enter(values, CURRENT_STEP, step_id)
        if _OBSERVED.get()[1] == UNKNOWN:
            # A subworkflow's engine has no observer: its calls are those of the outer workflow.
            _enter(values, _OBSERVED, (engine.observer, engine.workflow.name))
        if MISMATCH_SCOPE.get() is not None or not _is_loomrec(engine.provider_gateway):
            await original(engine, step_id)
            return
        scope = MismatchScope()
        _enter(values, MISMATCH_SCOPE, scope)
        with scope.cancel_scope:
            await original(engine, step_id)
    if scope.mismatch is not None:
        await _fail_step(engine, step_id, scope.mismatch, (time.monotonic() - started) * 1000)


async def _fail_step(engine: Any, step_id: str, mismatch: Exception, duration_ms: float) -> None:
    """Does what the engine does for a step whose last attempt failed."""
    result = StepResult(
        step_id=step_id, status=StepStatus.FAILED, error=str(mismatch), duration_ms=duration_ms
    )
    await engine.state.set_step_result(step_id, result)
    if engine.observer is None:
        return
    step = engine.workflow.get_step(step_id)
    streams = step.stream if step.stream is not None else engine.workflow.config.stream
    with contextlib.suppress(Exception):
        engine.observer.on_step_end(
            step_id, step.type.value, result.status.value, duration_ms, error=result.error,
            stream=streams,
        )


async def _complete(original: Callable[..., Any], gateway: Any, *arguments: Any, **more: Any) -> Any:
    """Sends a call. A miss goes to no fallback and opens no circuit: it is raised."""
    if not _is_loomrec(gateway):
        return await original(gateway, *arguments, **more)
    with contextlib.ExitStack() as values:
        _enter_call(values, gateway, more)
        if MISMATCH_SCOPE.get() is not None:
            return await original(gateway, *arguments, **more)
        scope = MismatchScope()
        _enter(values, MISMATCH_SCOPE, scope)
        with scope.cancel_scope:
            return await original(gateway, *arguments, **more)
    assert scope.mismatch is not None
    raise scope.mismatch


async def _stream(original: Callable[..., Any], gateway: Any, *arguments: Any, **more: Any) -> Any:
    """Opens a stream. Its request is sent, and a miss raised, when it is read."""
    if not _is_loomrec(gateway):
        return await original(gateway, *arguments, **more)
    with contextlib.ExitStack() as values:
        _enter_call(values, gateway, more)
        return await original(gateway, *arguments, **more)


def _enter_call(values: contextlib.ExitStack, gateway: Any, more: dict[str, Any]) -> None:
    # Some versions of the gateway keep the step id to themselves.
    if more.get("step_id"):
        _enter(values, CURRENT_STEP, more["step_id"])
    if _OBSERVED.get()[0] is None and getattr(gateway, "_observer", None) is not None:
        _enter(values, _OBSERVED, (gateway._observer, _OBSERVED.get()[1]))


def _enter(values: contextlib.ExitStack, variable: ContextVar[Any], value: Any) -> None:
    values.callback(variable.reset, variable.set(value))
