"""Puts loomrec between a gateway's providers and the APIs that they call."""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import httpx
from agentloom.providers.base import BaseProvider

from loomrec.agentloom.call import receive_answer, send_step
from loomrec.agentloom.journal_reader import JournalReader
from loomrec.agentloom.mismatch import RecordingMismatchError
from loomrec.agentloom.provider import LoomrecProvider
from loomrec.agentloom.workflow_scope import LoomrecBackedProvider, install
from loomrec.server import LoomrecError

logger = logging.getLogger("loomrec.agentloom")

#: Where loomrec's listener has each provider of AgentLoom's, and the host that it stands for.
_MOUNTS = {
    "openai": ("/openai/v1", "api.openai.com"),
    "anthropic": ("/anthropic/v1", "api.anthropic.com"),
    "google": ("/gemini/v1beta", "generativelanguage.googleapis.com"),
    "ollama": ("/ollama", None),
}
_LOOPBACK = ("127.0.0.1", "::1", "localhost")


class LoomrecLink:
    """A gateway, or one provider, whose calls go to loomrec until `detach`.

    `calls` has the calls of all its providers, in order; `mismatches` the misses.
    """

    def __init__(
        self,
        target: Any,
        url: str,
        *,
        observer: Any | None = None,
        workflow_name: str | None = None,
        token: str | None = None,
        mounts: Mapping[str, str] | None = None,
        timeout: float | None = None,
    ) -> None:
        self.url = url.rstrip("/")
        self.calls: list[dict[str, Any]] = []
        self.mismatches: list[RecordingMismatchError] = []
        self.providers: list[LoomrecProvider] = []
        self._mounts, self._timeout = dict(mounts or {}), timeout
        self._observer, self._workflow_name = observer, workflow_name
        self._journal = JournalReader(self.url, token)
        self._pointed: list[PointedClient] = []
        self._gateway: Any | None = None
        if isinstance(target, BaseProvider):
            self._wrap(target)
        else:
            self._gateway = target
            self.wrap_providers()
        # An empty gateway gets its providers later.
        if not self.providers and getattr(target, "_providers", True):
            raise LoomrecError("there is no provider with an HTTP client to attach to")
        if self._gateway is not None:
            self._gateway._loomrec_link = self

    def wrap_providers(self) -> None:
        """Attaches to the providers that the gateway has now. Further calls add the new ones."""
        if self._gateway is not None:
            found = [entry.provider for entry in self._gateway._providers]
            new = [provider for provider in found if self._base_url(provider) is not None]
            if new:
                self._gateway.wrap_providers(self._wrap)

    def detach(self) -> None:
        """Gives the gateway its own providers back."""
        for client in self._pointed:
            client.restore()
        self._pointed.clear()
        if self._gateway is not None:
            ours = {id(provider): provider for provider in self.providers}
            self._gateway.wrap_providers(
                lambda provider: provider._wrapped if id(provider) in ours else provider
            )
            self._gateway._loomrec_link = None

    def _wrap(self, provider: BaseProvider) -> BaseProvider:
        base_url, client = self._base_url(provider), _http_client(provider)
        if base_url is None or client is None:
            return provider
        self._pointed.append(PointedClient(client, base_url, self._timeout))
        wrapped = LoomrecProvider(
            provider, self._journal, calls=self.calls, mismatches=self.mismatches,
            observer=self._observer, workflow_name=self._workflow_name,
        )
        self.providers.append(wrapped)
        return wrapped

    def _base_url(self, provider: BaseProvider) -> str | None:
        """Returns what a provider's calls are to be sent to; `None` if it stays as it is.

        Raises `LoomrecError` for a provider of another service.
        """
        client = None if isinstance(provider, LoomrecBackedProvider) else _http_client(provider)
        return None if client is None else self.url + self._mount(provider.name, str(client.base_url))

    def _mount(self, name: str, base_url: str) -> str:
        """Returns the path under which loomrec takes a provider's calls."""
        if base_url.startswith(self.url + "/"):
            return base_url.removeprefix(self.url)
        if name in self._mounts:
            return "/" + self._mounts[name].strip("/")
        mount, official = _MOUNTS.get(name, (None, None))
        host = urlsplit(base_url).hostname
        if mount is None or (official not in (None, host) and host not in _LOOPBACK):
            raise LoomrecError(
                f"the provider {name!r} calls {base_url}, and loomrec may have another upstream for "
                f"that name; say where loomrec takes its calls: mounts={{{name!r}: '/groq/openai/v1'}}"
            )
        return mount


class PointedClient:
    """An HTTP client that is pointed at loomrec."""

    def __init__(self, client: httpx.AsyncClient, base_url: str, timeout: float | None) -> None:
        self._client = client
        self._own = (client.base_url, client.event_hooks, client.timeout)
        hooks = client.event_hooks
        client.base_url = httpx.URL(base_url)
        if timeout is not None:
            client.timeout = httpx.Timeout(timeout)
        client.event_hooks = {
            "request": [*hooks["request"], send_step],
            "response": [*hooks["response"], receive_answer],
        }

    def restore(self) -> None:
        """Points the client at its own API again."""
        self._client.base_url, self._client.event_hooks, self._client.timeout = self._own


def _http_client(provider: Any) -> httpx.AsyncClient | None:
    """Returns a provider's client, or that of the provider that it wraps."""
    while provider is not None:
        client = getattr(provider, "_client", None)
        if isinstance(client, httpx.AsyncClient):
            return client
        provider = getattr(provider, "_wrapped", None)
    return None


def attach(
    target: Any,
    url: str | None = None,
    *,
    observer: Any | None = None,
    workflow_name: str | None = None,
    token: str | None = None,
    mounts: Mapping[str, str] | None = None,
    timeout: float | None = None,
) -> LoomrecLink:
    """Sends the calls of an engine, a gateway or a provider to a loomrec that runs.

    Each call carries the id of the step that makes it. A miss raises `RecordingMismatchError`: a
    step that meets one fails at once. A fault raises what it names.

    `url` is loomrec's address, by default `LOOMREC_URL`. `observer` and `workflow_name` are the
    engine's by default. `token` is that of `--control-token`. `mounts` says, for a provider whose
    base URL is not the usual one, under which path loomrec takes its calls. `timeout`, in seconds, is
    how long a provider waits for an answer or its next piece; AgentLoom's own is 60.
    """
    url = url or os.environ.get("LOOMREC_URL")
    if not url:
        raise LoomrecError("no address of loomrec: give url=…, or run under `loomrec … -- CMD`")
    install()
    target = getattr(target, "provider_gateway", target)
    if target is None:
        raise LoomrecError("the engine has no gateway")
    previous = getattr(target, "_loomrec_link", None)
    if previous is not None:
        previous.detach()
    return LoomrecLink(
        target, url, observer=observer, workflow_name=workflow_name, token=token, mounts=mounts,
        timeout=timeout,
    )
