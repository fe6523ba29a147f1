"""AgentLoom's hashes: recordings go both ways for its adapters, known by their hashes alone.

The published package hashes the messages alone. Newer versions hash the whole call; `call_hash`
makes that hash, and `CallRecorder` and `CallMock` record and look up by it, as they do.
"""

from __future__ import annotations

import asyncio
import hashlib
import json

import pytest
from agentloom.providers.anthropic import AnthropicProvider
from agentloom.providers.google import GoogleProvider
from agentloom.providers.mock import MockProvider
from agentloom.providers.openai import OpenAIProvider
from agentloom.providers.recorder import RecordingProvider

from conftest import KEY

RUNNER = asyncio.Runner()
MOUNTS = {OpenAIProvider: "/openai/v1", AnthropicProvider: "/anthropic/v1", GoogleProvider: "/gemini/v1beta"}
KINDS = pytest.mark.parametrize("kind", list(MOUNTS), ids=lambda kind: kind.name)

SYSTEM = {"role": "system", "content": "Be brief — \"é\"."}
TALK = [
    {"role": "user", "content": "plan"},
    {"role": "assistant", "content": "Grüße\n☃ 😀"},
    {"role": "user", "content": "think"},
]
# Messages, model, temperature and limit of each call.
CALLS = [
    ([{"role": "user", "content": "plan"}], "m-1", None, None),
    ([SYSTEM, {"role": "user", "content": "cut"}], "m-1", 0.7, 100),
    ([SYSTEM, *TALK], "m-2", 0, 4096),
    ([SYSTEM, *TALK], "m-2", 1.0, None),
]


def call_hash(messages, model, temperature, max_tokens) -> str:
    call = {"messages": messages, "model": model, "temperature": temperature, "max_tokens": max_tokens, "extra": {}}
    return hashlib.sha256(json.dumps(call, sort_keys=True).encode()).hexdigest()


class CallRecorder(RecordingProvider):
    """Records by the hash of the whole call."""

    async def complete(self, messages, model, temperature=None, max_tokens=None, **more):
        self._key = lambda step_id, messages: step_id or call_hash(messages, model, temperature, max_tokens)
        return await super().complete(messages, model, temperature, max_tokens, **more)


class CallMock(MockProvider):
    """Looks up by the hash of the whole call, and checks a step by it. It never makes an answer up."""

    async def complete(self, messages, model, temperature=None, max_tokens=None, **more):
        wanted = call_hash(messages, model, temperature, max_tokens)

        def lookup(step_id, messages):
            entry = self._responses.get(step_id) if step_id else None
            if entry is not None and entry.get("request_hash", wanted) != wanted:
                raise LookupError(f"step {step_id} has drifted")
            return entry or self._responses[wanted]

        self._lookup = lookup
        return await super().complete(messages, model, temperature, max_tokens, **more)


def complete(provider, call, **more):
    messages, model, temperature, max_tokens = call
    return RUNNER.run(provider.complete(messages, model, temperature, max_tokens, **more))


def through(client, kind):
    """An adapter that calls loomrec."""
    return kind(api_key=KEY, base_url=str(client.base_url).rstrip("/") + MOUNTS[kind])


def straight(upstream, kind):
    """An adapter that calls the upstream."""
    base = upstream.url + ("/v1beta" if kind is GoogleProvider else "/v1")
    return kind(api_key=KEY, base_url=base)


def record(loomrec, recording, upstream):
    names = [f"--upstream={name}={upstream.url}" for name in ("anthropic", "gemini")]
    return loomrec.record(recording, upstream, *names)


@KINDS
def test_loomrec_replays_what_agentloom_recorded_by_the_hash_of_the_call(loomrec, upstream, tmp_path, kind):
    recording = tmp_path / "agentloom.json"
    recorder = CallRecorder(straight(upstream, kind), recording)
    answers = [complete(recorder, call) for call in CALLS]
    held = json.loads(recording.read_text(encoding="utf-8"))
    assert set(held) == {call_hash(*call) for call in CALLS}
    with loomrec.replay(recording, "--strict", "--fail-unused") as client:
        provider = through(client, kind)
        for call, said in zip(CALLS, answers, strict=True):
            answer = complete(provider, call)
            assert answer.content == said.content
            assert answer.usage.prompt_tokens == said.usage.prompt_tokens
            assert answer.finish_reason == said.finish_reason
    with loomrec.replay(recording, code=1) as client:
        provider = through(client, kind)
        for at, other in enumerate([[SYSTEM, *TALK[:2]], "m-3", 0.25, 77]):
            call = list(CALLS[1])
            call[at] = other
            with pytest.raises(Exception, match="422"):
                complete(provider, call)


@KINDS
def test_agentloom_replays_what_loomrec_recorded_and_exported(loomrec, upstream, tmp_path, kind):
    recording, exported = tmp_path / "run.json", tmp_path / "exported.json"
    with record(loomrec, recording, upstream) as client:
        provider = through(client, kind)
        provider._client.headers["x-loomrec-step-id"] = "first"
        answers = [complete(provider, CALLS[0])]
        del provider._client.headers["x-loomrec-step-id"]
        answers += [complete(provider, call) for call in CALLS[1:]]
    loomrec.run("export", "--to", "agentloom", str(recording), "-o", str(exported))
    strict, published = CallMock(responses_file=exported), MockProvider(responses_file=exported)
    for call, said in zip(CALLS, answers, strict=True):
        answer = complete(strict, call)
        assert answer.content == said.content
        assert answer.usage.prompt_tokens == said.usage.prompt_tokens
    # By its step, which is checked by its hash.
    assert complete(strict, CALLS[0], step_id="first").content == answers[0].content
    with pytest.raises(LookupError, match="drifted"):
        complete(strict, CALLS[1], step_id="first")
    # The package that is published knows calls by their messages.
    for call, said in zip(CALLS, answers, strict=True):
        assert complete(published, call).content == said.content
        assert published.calls[-1]["matched_by"] == "prompt_hash"


@KINDS
def test_a_recording_of_0_4_0_answers_by_messages_only_when_that_is_allowed(loomrec, upstream, tmp_path, kind):
    recording = tmp_path / "agentloom.json"
    recorder = RecordingProvider(straight(upstream, kind), recording)
    answers = [complete(recorder, call) for call in CALLS[:3]]
    with loomrec.replay(recording, "--strict", code=1) as client:
        with pytest.raises(Exception, match="--allow-unchecked"):
            complete(through(client, kind), CALLS[0])
    with loomrec.replay(recording, "--allow-unchecked") as client:
        provider = through(client, kind)
        for call, said in zip(CALLS, answers, strict=False):
            assert complete(provider, call).content == said.content
        # Neither the model nor the temperature is part of that hash.
        assert complete(provider, (CALLS[0][0], "another", 0.1, None)).content == answers[0].content
