"""The exception that a fault names, for a call that failed by it."""

from __future__ import annotations

from typing import Any

import httpx
from agentloom.exceptions import ProviderError

_BY_TYPE: dict[str, type[Exception]] = {
    "timeout": TimeoutError,
    "hang": TimeoutError,
    "wedged": TimeoutError,
    "connection_reset": httpx.ConnectError,
}

#: What the field `raise` of a truncated answer may name.
_BY_NAME: dict[str, type[Exception]] = {
    "ConnectionError": ConnectionError,
    "ConnectionResetError": ConnectionResetError,
    "TimeoutError": TimeoutError,
    "ReadTimeout": httpx.ReadTimeout,
    "ReadError": httpx.ReadError,
    "ConnectError": httpx.ConnectError,
    "RemoteProtocolError": httpx.RemoteProtocolError,
    "RuntimeError": RuntimeError,
    "ProviderError": ProviderError,
}


def fault_exception(provider: str, fault: dict[str, Any], error: Exception) -> Exception:
    """Returns the exception that a fault of the journal names, or else the error itself.

    A real provider wraps what the connection did in a `ProviderError`. A mock raises what the
    fault is called, and that is what a workflow's tests are written for.
    """
    kind = str(fault.get("type"))
    named = _BY_TYPE.get(kind)
    if kind == "stream_truncate":
        raised = fault.get("raise")
        named = _BY_NAME.get(str(raised)) if raised else _of_truncation(error)
    if named is None or type(error) is named:
        return error
    text = f"{kind} (fault {fault.get('rule')!r}): {error}"
    if named is ProviderError:
        return ProviderError(provider, text)
    return named(text)


def _of_truncation(error: Exception) -> type[Exception] | None:
    """A connection that broke is a `ConnectionError`; an error that the provider sent is not."""
    broken = error if isinstance(error, httpx.TransportError) else error.__cause__
    return ConnectionError if isinstance(broken, httpx.TransportError) else None
