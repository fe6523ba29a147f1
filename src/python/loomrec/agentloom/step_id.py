"""The step's id for AgentLoom's own mock and recorder.

AgentLoom looks an answer up by the step's id, but no published version tells its providers which
step asks.
"""

from __future__ import annotations

from typing import Any

from agentloom.providers.base import BaseProvider, ProviderResponse, StreamResponse

from loomrec.agentloom.call import CURRENT_STEP
from loomrec.agentloom.workflow_scope import install


def with_step_ids(provider: BaseProvider) -> BaseProvider:
    """Returns a provider that gives this one the id of the step that runs.

    For AgentLoom's own `MockProvider` and `RecordingProvider`: workflows then replay from
    recordings with step ids, and are recorded with them.
    """
    install()
    inner = getattr(provider, "_wrapped", None)
    if isinstance(inner, BaseProvider):
        # A recorder hands on all that it is given, and a provider may refuse what it does not know.
        provider._wrapped = StepIdProvider(inner, gives=False)  # type: ignore[attr-defined]
    return StepIdProvider(provider, gives=True)


class StepIdProvider(BaseProvider):
    """Gives a provider the step's id, or keeps it from one."""

    def __init__(self, wrapped: BaseProvider, *, gives: bool) -> None:
        super().__init__(api_key=wrapped.api_key, base_url=wrapped.base_url)
        self.name = wrapped.name
        self._wrapped = wrapped
        self._gives = gives

    async def complete(
        self,
        messages: list[dict[str, Any]],
        model: str,
        temperature: float | None = None,
        max_tokens: int | None = None,
        **kwargs: Any,
    ) -> ProviderResponse:
        return await self._wrapped.complete(
            messages=messages, model=model, temperature=temperature, max_tokens=max_tokens,
            **self._changed(kwargs),
        )

    async def stream(
        self,
        messages: list[dict[str, Any]],
        model: str,
        temperature: float | None = None,
        max_tokens: int | None = None,
        **kwargs: Any,
    ) -> StreamResponse:
        return await self._wrapped.stream(
            messages=messages, model=model, temperature=temperature, max_tokens=max_tokens,
            **self._changed(kwargs),
        )

    def _changed(self, kwargs: dict[str, Any]) -> dict[str, Any]:
        step_id = kwargs.pop("step_id", None) or CURRENT_STEP.get()
        return {**kwargs, "step_id": step_id} if self._gives and step_id else kwargs

    def supports_model(self, model: str) -> bool:
        return self._wrapped.supports_model(model)

    async def close(self) -> None:
        await self._wrapped.close()
