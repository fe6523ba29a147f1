"""AgentLoom's recorder, by way of loomrec."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from agentloom.providers.base import BaseProvider

from loomrec.agentloom.link import LoomrecLink
from loomrec.agentloom.provider import LoomrecProvider
from loomrec.agentloom.workflow_scope import install
from loomrec.server import LoomrecError, LoomrecServer

#: AgentLoom's names of providers: loomrec's names of their upstreams, and what ends their base URL.
_UPSTREAMS = {
    "openai": ("openai", "/v1"),
    "anthropic": ("anthropic", "/v1"),
    "google": ("gemini", "/v1beta"),
    "ollama": ("ollama", ""),
}


class RecordingProvider(LoomrecProvider):
    """Records what a provider answers; takes what AgentLoom's `RecordingProvider` takes.

    `close` stops the server, which completes the recording.
    """

    def __init__(
        self,
        wrapped: BaseProvider,
        output_path: str | os.PathLike[str],
        observer: Any | None = None,
        *,
        workflow_name: str | None = None,
        arguments: tuple[str, ...] = (),
    ) -> None:
        """Starts `loomrec record` into `output_path`, with `arguments` in addition."""
        if wrapped.name not in _UPSTREAMS:
            known = ", ".join(_UPSTREAMS)
            raise LoomrecError(f"cannot record the provider {wrapped.name!r}; there are: {known}")
        upstream, ending = _UPSTREAMS[wrapped.name]
        origin = wrapped.base_url.rstrip("/").removesuffix(ending)
        self.output_path = Path(output_path)
        self.server = LoomrecServer(
            "record", "-r", str(output_path), "--upstream", f"{upstream}={origin}", *arguments
        )
        install()
        self._link = LoomrecLink(
            wrapped, self.server.url, mounts={wrapped.name: f"/{upstream}{ending}"}
        )
        super().__init__(
            wrapped, self._link._journal, observer=observer, workflow_name=workflow_name
        )

    async def close(self) -> None:
        """Closes the provider and completes the recording.

        Raises `LoomrecError` if loomrec could not keep all that was answered.
        """
        await super().close()
        code = self.server.stop()
        if code != 0:
            said = self.server.messages.strip()
            raise LoomrecError(f"recording {self.output_path} ended with exit code {code}: {said}")
