"""AgentLoom's mock, answered by loomrec."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agentloom.providers.anthropic import AnthropicProvider
from agentloom.providers.base import BaseProvider, ProviderResponse, StreamResponse
from agentloom.providers.google import GoogleProvider
from agentloom.providers.openai import OpenAIProvider

from loomrec.agentloom.link import LoomrecLink
from loomrec.agentloom.mismatch import RecordingMismatchError
from loomrec.agentloom.provider import LoomrecProvider
from loomrec.agentloom.workflow_scope import LoomrecBackedProvider, install
from loomrec.server import LoomrecError, LoomrecServer

#: What AgentLoom's mock answers where nothing else is asked for, and loomrec's `--on-miss default`.
_PLACEHOLDER = "Mock response"
_LATENCY_MODELS = ("constant", "normal", "replay")


class MockProvider(LoomrecBackedProvider):
    """Answers every model from a recording; takes what AgentLoom's `MockProvider` takes.

    A call that is not recorded raises `RecordingMismatchError`, unless `default_response` is
    given. `close` stops the server.
    """

    name = "mock"

    def __init__(
        self,
        api_key: str = "",
        base_url: str = "",
        responses_file: str | os.PathLike[str] | None = None,
        latency_model: str = "constant",
        latency_ms: float = 0.0,
        default_response: str | None = None,
        seed: int | None = None,
        observer: Any | None = None,
        workflow_name: str | None = None,
        *,
        strict: bool | None = None,
        arguments: tuple[str, ...] = (),
        **_more: Any,
    ) -> None:
        """Starts `loomrec replay` on `responses_file`, with `arguments` in addition.

        `strict` makes a miss raise although there is a `default_response`.
        """
        super().__init__(api_key=api_key, base_url=base_url)
        self.responses_file = Path(responses_file) if responses_file else None
        self.default_response = default_response
        self._empty: tempfile.TemporaryDirectory[str] | None = None
        words = ["-r", str(self.responses_file or self._empty_recording())]
        if "--strict" not in arguments:
            # AgentLoom's mock checks nothing: an entry by step id, or by 0.4.0's hash, answers.
            words += ["--repeat", "last", "--allow-unchecked"]
            words += _miss_words(None if strict else default_response)
        words += _latency_words(latency_model, float(latency_ms))
        if seed is not None:
            words += ["--seed", str(seed)]
        self.server = LoomrecServer("replay", *words, *arguments)
        install()
        self.calls: list[dict[str, Any]] = []
        self.mismatches: list[RecordingMismatchError] = []
        self._by_wire: dict[type[BaseProvider], LoomrecProvider] = {}
        self._observer, self._workflow_name = observer, workflow_name

    def _empty_recording(self) -> Path:
        """Without a file AgentLoom's mock answers everything by its default."""
        self._empty = tempfile.TemporaryDirectory(prefix="loomrec-")
        path = Path(self._empty.name) / "empty.json"
        path.write_text('{"_version": 2}', encoding="utf-8")
        return path

    async def complete(
        self,
        messages: list[dict[str, Any]],
        model: str,
        temperature: float | None = None,
        max_tokens: int | None = None,
        **kwargs: Any,
    ) -> ProviderResponse:
        """Returns the recorded answer, with the recording's model and cost."""
        provider = self._provider_for(model)
        response, line = await provider.complete_with_line(
            messages, model, temperature, max_tokens, **kwargs
        )
        raw = response.raw_response
        response.provider = self.name
        response.model = raw.get("model") or raw.get("modelVersion") or response.model
        response.cost_usd = (line or {}).get("cost_usd") or 0.0
        return response

    async def stream(
        self,
        messages: list[dict[str, Any]],
        model: str,
        temperature: float | None = None,
        max_tokens: int | None = None,
        **kwargs: Any,
    ) -> StreamResponse:
        """Returns the recorded answer as a stream, in the chunks of the recording."""
        provider = self._provider_for(model)
        response = await provider.stream(messages, model, temperature, max_tokens, **kwargs)
        response.provider = self.name
        return response

    def supports_model(self, model: str) -> bool:
        return True

    async def close(self) -> None:
        for provider in self._by_wire.values():
            await provider.close()
        self.stop()

    def stop(self) -> int:
        """Stops the server and returns its exit code: 1 if a call was missed."""
        code = self.server.stop()
        if self._empty is not None:
            self._empty.cleanup()
        return code

    def _provider_for(self, model: str) -> LoomrecProvider:
        """Returns the provider that speaks the API of a model: its calls have the recorded key."""
        kind: type[BaseProvider] = OpenAIProvider
        if "claude" in model:
            kind = AnthropicProvider
        elif "gemini" in model:
            kind = GoogleProvider
        if kind not in self._by_wire:
            link = LoomrecLink(
                kind(api_key="loomrec-replay-stand-in"), self.server.url,
                observer=self._observer, workflow_name=self._workflow_name,
                mounts=_MOUNTS,
            )
            provider = link.providers[0]
            provider.calls, provider.mismatches = self.calls, self.mismatches
            self._by_wire[kind] = provider
        return self._by_wire[kind]


#: The environment may name other base URLs; those of a mock are loomrec's.
_MOUNTS = {"openai": "/openai/v1", "anthropic": "/anthropic/v1", "google": "/gemini/v1beta"}


def _latency_words(model: str, milliseconds: float) -> list[str]:
    if model not in _LATENCY_MODELS:
        raise LoomrecError(f"unknown latency_model {model!r}; there are: {', '.join(_LATENCY_MODELS)}")
    if model == "constant" and milliseconds <= 0:
        return ["--latency", "none"]
    # The name of the model that draws AgentLoom's own numbers from a seed.
    flag = "agentloom" if model == "normal" else model
    return ["--latency", f"{flag}:{milliseconds:.15g}"]


def _miss_words(default_response: str | None) -> list[str]:
    if default_response is None:
        return ["--on-miss", "error"]
    return ["--on-miss", "default" if default_response == _PLACEHOLDER else f"default:{default_response}"]


def mock_provider(workflow: Any, **more: Any) -> MockProvider:
    """Returns the mock that a workflow's `config` block asks for by `provider: mock`.

    `workflow` is a YAML file's path, what such a file holds, or AgentLoom's own definition of a
    workflow. `more` goes to `MockProvider`, and stands above the block.
    """
    document = _document(workflow)
    config = document.get("config") if "config" in document or "steps" in document else document
    config = {} if config is None else config
    if not isinstance(config, Mapping):
        raise LoomrecError(f"config: found {config!r}, expected a mapping")
    if config.get("provider") != "mock":
        raise LoomrecError(f"config.provider: found {config.get('provider')!r}, expected 'mock'")
    names = ("responses_file", "latency_model", "latency_ms", "default_response", "seed", "strict")
    settings = {name: config[name] for name in names if config.get(name) is not None}
    if "name" in document:
        settings["workflow_name"] = document["name"]
    return MockProvider(**{**settings, **more})


def register_mock(gateway: Any, workflow: Any, **more: Any) -> MockProvider:
    """Registers the mock of a workflow's `config` block on a gateway, and returns it."""
    provider = mock_provider(workflow, **more)
    gateway.register(provider, priority=0)
    return provider


def _document(workflow: Any) -> Mapping[str, Any]:
    if hasattr(workflow, "model_dump"):
        workflow = workflow.model_dump()
    elif isinstance(workflow, (str, os.PathLike)):
        import yaml

        text = Path(workflow).read_text(encoding="utf-8")
        try:
            workflow = yaml.safe_load(text)
        except yaml.YAMLError as error:
            raise LoomrecError(f"failed to read {workflow}: {error}") from error
    if not isinstance(workflow, Mapping):
        raise LoomrecError(f"a workflow: found {workflow!r}, expected a mapping")
    return workflow
