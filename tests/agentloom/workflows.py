"""Workflows of AgentLoom's engine, and an upstream that speaks the APIs of three providers."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Any

from agentloom.core.engine import WorkflowEngine
from agentloom.core.models import WorkflowDefinition
from agentloom.core.results import WorkflowResult
from agentloom.providers.anthropic import AnthropicProvider
from agentloom.providers.gateway import ProviderGateway
from agentloom.providers.google import GoogleProvider
from agentloom.providers.openai import OpenAIProvider


@dataclass(frozen=True)
class Api:
    """One provider of AgentLoom's: its class, a model of its, how base URLs end, its upstream."""

    provider: type
    model: str
    version: str
    upstream: str


OPENAI = Api(OpenAIProvider, "gpt-4o-mini", "/v1", "openai")
ANTHROPIC = Api(AnthropicProvider, "claude-haiku-4-5", "/v1", "anthropic")
GOOGLE = Api(GoogleProvider, "gemini-2.5-flash", "/v1beta", "gemini")
APIS = [OPENAI, ANTHROPIC, GOOGLE]


def answer_to(prompt: str) -> str:
    return f"Grüße, {prompt}!"


class ApiHandler(BaseHTTPRequestHandler):
    """Answers each API in its own shape, by the last message's text."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.headers_seen.append({k.lower(): v for k, v in self.headers.items()})
        if "generateContent" in self.path or "streamGenerateContent" in self.path:
            shape, streamed = _gemini, "streamGenerateContent" in self.path
            prompt = body["contents"][-1]["parts"][0]["text"]
        else:
            shape, streamed = (_anthropic if "/messages" in self.path else _openai), body.get("stream")
            prompt = body["messages"][-1]["content"]
        complete, events = shape(answer_to(prompt))
        if streamed:
            self._send("text/event-stream", "".join(events).encode())
        else:
            self._send("application/json", json.dumps(complete).encode())

    def _send(self, media_type: str, body: bytes) -> None:
        self.send_response(200)
        self.send_header("content-type", media_type)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_arguments) -> None:
        pass


def _data(value: Any, event: str | None = None) -> str:
    return (f"event: {event}\n" if event else "") + f"data: {json.dumps(value)}\n\n"


def _openai(text: str) -> tuple[dict, list[str]]:
    usage = {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12}
    head = {"id": "chatcmpl-1", "created": 1, "model": "gpt-4o-mini-2024-07-18"}
    message = {"role": "assistant", "content": text}
    complete = head | {
        "object": "chat.completion", "usage": usage,
        "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
    }
    deltas = [{"role": "assistant", "content": ""}, *({"content": c} for c in text)]
    chunk = head | {"object": "chat.completion.chunk"}
    rows = [chunk | {"choices": [{"index": 0, "delta": d, "finish_reason": None}]} for d in deltas]
    rows.append(chunk | {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
    rows.append(chunk | {"choices": [], "usage": usage})
    return complete, [*map(_data, rows), "data: [DONE]\n\n"]


def _anthropic(text: str) -> tuple[dict, list[str]]:
    head = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-haiku-4-5"}
    usage = {"input_tokens": 7, "output_tokens": 5}
    complete = head | {
        "content": [{"type": "text", "text": text}], "stop_reason": "end_turn",
        "stop_sequence": None, "usage": usage,
    }
    begun = head | {"content": [], "stop_reason": None, "usage": usage | {"output_tokens": 1}}
    rows = [{"type": "message_start", "message": begun}]
    rows.append({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}})
    for character in text:
        delta = {"type": "text_delta", "text": character}
        rows.append({"type": "content_block_delta", "index": 0, "delta": delta})
    rows.append({"type": "content_block_stop", "index": 0})
    ended = {"stop_reason": "end_turn", "stop_sequence": None}
    rows.append({"type": "message_delta", "delta": ended, "usage": {"output_tokens": 5}})
    rows.append({"type": "message_stop"})
    return complete, [_data(row, row["type"]) for row in rows]


def _gemini(text: str) -> tuple[dict, list[str]]:
    usage = {"promptTokenCount": 7, "candidatesTokenCount": 5, "totalTokenCount": 12}
    head = {"modelVersion": "gemini-2.5-flash", "responseId": "r1"}

    def row(piece: str, **more: Any) -> dict:
        candidate = {"index": 0, "content": {"role": "model", "parts": [{"text": piece}]}, **more}
        return head | {"candidates": [candidate], "usageMetadata": usage}

    half = len(text) // 2
    events = [_data(row(text[:half])), _data(row(text[half:], finishReason="STOP"))]
    return row(text, finishReason="STOP"), events


@dataclass
class Watcher:
    """An observer that keeps what it is told of replays, captures, faults and errors."""

    replays: list[tuple[str, str, str]] = field(default_factory=list)
    captures: list[tuple[str, str, str]] = field(default_factory=list)
    faults: list[tuple[str, str]] = field(default_factory=list)
    errors: list[tuple[str, str]] = field(default_factory=list)
    ended: list[tuple[str, str]] = field(default_factory=list)
    circuits: list[str] = field(default_factory=list)

    def on_mock_replay(self, workflow_name, step_id, matched_by) -> None:
        self.replays.append((workflow_name, step_id, matched_by))

    def on_recording_capture(self, step_id, provider, model, latency_s) -> None:
        assert latency_s > 0
        self.captures.append((step_id, provider, model))

    def on_mock_fault(self, step_id, kind) -> None:
        self.faults.append((step_id, kind))

    def on_provider_error(self, provider, error_type) -> None:
        self.errors.append((provider, error_type))

    def on_step_end(self, step_id, _kind, status, *_numbers, **_more) -> None:
        self.ended.append((step_id, status))

    def on_circuit_state_change(self, provider, _old, new) -> None:
        self.circuits.append(f"{provider} {new}")

    def __getattr__(self, name):
        if name.startswith("on_"):
            return lambda *_arguments, **_more: None
        raise AttributeError(name)


def workflow(model: str, *steps: str | dict, stream: bool = False, name: str = "flow") -> WorkflowDefinition:
    """A workflow of steps that call a model with their own name; they run at the same time."""
    retry = {"max_retries": 2, "backoff_base": 0.01, "backoff_max": 0.01}
    made = []
    for step in steps:
        more = {"id": step} if isinstance(step, str) else step
        made.append({"type": "llm_call", "prompt": more["id"], "output": more["id"], "retry": retry} | more)
    config = {"model": model, "stream": stream}
    return WorkflowDefinition.model_validate({"name": name, "config": config, "steps": made})


def gateway(*providers: Any, **more: Any) -> ProviderGateway:
    made = ProviderGateway()
    for number, provider in enumerate(providers):
        made.register(provider, priority=number, max_rpm=100_000, **more)
    return made


def engine(
    definition: WorkflowDefinition, providers: ProviderGateway, observer: Any = None
) -> WorkflowEngine:
    return WorkflowEngine(definition, provider_gateway=providers, observer=observer)


def run(made: WorkflowEngine) -> WorkflowResult:
    """Runs a workflow once, and closes its providers."""

    async def run_and_close() -> WorkflowResult:
        result = await made.run()
        await made.provider_gateway.close()
        return result

    return asyncio.run(run_and_close())


def outputs(result: WorkflowResult) -> dict[str, str]:
    return {step_id: step.output for step_id, step in result.step_results.items()}


def errors(result: WorkflowResult) -> dict[str, str]:
    return {step_id: step.error for step_id, step in result.step_results.items() if step.error}


def provider_of(api: Api, origin: str) -> Any:
    """A provider whose API is at an origin."""
    return api.provider(api_key="sk-proj-" + "Canary0123456789" * 2, base_url=origin + api.version)


def held(recording: Any) -> dict:
    return json.loads(recording.read_text(encoding="utf-8"))
