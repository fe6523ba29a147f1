"""loomrec's MockProvider and RecordingProvider beside AgentLoom's own."""

from __future__ import annotations

import asyncio
import json
import random

import pytest
from agentloom.core.models import WorkflowDefinition
from agentloom.providers.mock import MockProvider as AgentLoomMock
from loomrec.agentloom import (
    MockProvider,
    RecordingMismatchError,
    RecordingProvider,
    mock_provider,
    register_mock,
)
from loomrec.journal import JournalClient
from loomrec.server import LoomrecError, LoomrecServer, find_binary

from workflows import OPENAI, Watcher, engine, gateway, held, outputs, provider_of, run, workflow

FILE = {
    "_version": 2,
    "plan": {
        "content": "a plan — ☃", "model": "gpt-4o-mini-2024-07-18", "cost_usd": 0.25, "latency_ms": 30,
        "finish_reason": "stop", "usage": {"prompt_tokens": 3, "completion_tokens": 4, "total_tokens": 7},
    },
    "short": {"content": "short"},
}

#: Step, model, and text of calls that are made one after the other.
CALLS = [
    ("plan", "gpt-4o-mini", "x"),
    ("plan", "gpt-4o-mini", "another"),
    ("short", "claude-haiku-4-5", "x"),
    ("short", "gemini-2.5-flash", "x"),
    ("short", "llama-of-mine", "x"),
    ("none", "gpt-4o-mini", "x"),
    (None, "gpt-4o-mini", "x"),
]
SHARED = ("step_id", "model", "messages", "matched", "matched_by")


@pytest.fixture
def responses(tmp_path):
    path = tmp_path / "responses.json"
    path.write_text(json.dumps(FILE), encoding="utf-8")
    return path


async def ask_all(provider):
    answers = []
    for step, model, text in CALLS:
        more = {"step_id": step} if step else {}
        messages = [{"role": "system", "content": "be kind"}, {"role": "user", "content": text}]
        answers.append(await provider.complete(messages, model, 0.5, 100, **more))
    await provider.close()
    return answers


def test_the_mock_does_what_agentlooms_mock_does(responses):
    seen = []
    for kind in (AgentLoomMock, MockProvider):
        watcher = Watcher()
        provider = kind(
            responses_file=responses, default_response="Mock response", observer=watcher, workflow_name="flow"
        )
        answers = asyncio.run(ask_all(provider))
        calls = [{name: call[name] for name in SHARED} for call in provider.calls]
        said = [
            (answer.content, answer.provider, answer.cost_usd, answer.usage.model_dump(), answer.model)
            for answer in answers
        ]
        seen.append((said, calls, watcher.replays))
    assert seen[0][0] == seen[1][0]
    assert seen[0][1] == seen[1][1]
    assert seen[0][2] == seen[1][2]
    assert [by for _, _, by in seen[1][2]] == ["step_id"] * 5 + ["default"] * 2


def test_a_call_that_is_not_recorded_is_a_miss_unless_a_default_is_asked_for(responses):
    async def misses(provider):
        with pytest.raises(RecordingMismatchError):
            await provider.complete([{"role": "user", "content": "x"}], "gpt-4o-mini", step_id="none")
        assert provider.calls[0]["matched"] is False
        await provider.close()

    for more in ({}, {"default_response": "Mock response", "strict": True}):
        provider = MockProvider(responses_file=responses, **more)
        asyncio.run(misses(provider))
        assert provider.server.exit_code == 1
        assert len(provider.mismatches) == 1


def test_a_strict_mock_refuses_what_cannot_be_checked(responses):
    with pytest.raises(LoomrecError, match="--allow-unchecked"):
        MockProvider(responses_file=responses, arguments=("--strict",))


def test_without_a_file_everything_is_the_default():
    provider = MockProvider(default_response="Mock response")
    answers = asyncio.run(ask_all(provider))
    assert {answer.content for answer in answers} == {"Mock response"}


def test_the_default_is_the_text_that_is_given(responses):
    provider = MockProvider(responses_file=responses, default_response="nothing — ☃")
    answers = asyncio.run(ask_all(provider))
    assert [answer.content for answer in answers[-2:]] == ["nothing — ☃"] * 2


def test_a_seed_gives_agentlooms_own_waits(responses):
    async def ask(provider):
        for _ in range(6):
            await provider.complete([{"role": "user", "content": "x"}], "gpt-4o-mini", step_id="short")

    provider = MockProvider(responses_file=responses, latency_model="normal", latency_ms=100, seed=42)
    asyncio.run(ask(provider))
    lines = JournalClient(provider.server.url).lines_since(0)
    provider.stop()
    generator = random.Random(42)
    drawn = [generator.gauss(100, 10) for _ in range(6)]
    waited = [line["head_ms"] for line in lines if "method" in line]
    assert len(waited) == 6
    # A wait is never shorter than what was drawn; other numbers would be, at one of the calls.
    assert all(real >= least - 1 for real, least in zip(waited, drawn, strict=True)), (waited, drawn)
    assert sum(waited) < sum(drawn) + 2000


def test_an_entry_is_found_by_the_hash_and_told_in_agentlooms_word(tmp_path):
    path = tmp_path / "hashed.json"
    key = "3fa1e9653c6dc8faf7fdaff60ddc57555f47b1affc7602d625e58fa7a4523a7c"
    path.write_text(json.dumps({key: {"content": "by hash"}}), encoding="utf-8")

    async def ask(provider):
        answer = await provider.complete([{"role": "user", "content": "hi"}], "m")
        await provider.close()
        return answer.content

    watcher = Watcher()
    provider = MockProvider(responses_file=path, observer=watcher, workflow_name="flow")
    assert asyncio.run(ask(provider)) == "by hash"
    assert provider.calls[0]["matched_by"] == "prompt_hash"
    assert watcher.replays == [("flow", "", "prompt_hash")]


def test_a_workflows_yaml_block_makes_the_mock(responses, tmp_path):
    definition = workflow("gpt-4o-mini", "plan", "none").model_dump(mode="json")
    definition["config"] |= {
        "provider": "mock", "responses_file": str(responses), "latency_model": "replay", "latency_ms": 1.5,
    }
    with_default = definition | {"config": definition["config"] | {"default_response": "Mock response"}}
    path = tmp_path / "flow.yaml"
    # JSON is YAML.
    path.write_text(json.dumps(with_default), encoding="utf-8")
    watcher = Watcher()
    providers = gateway()
    mock = register_mock(providers, path)
    made = engine(WorkflowDefinition.model_validate(with_default), providers, watcher)
    result = run(made)
    assert outputs(result) == {"plan": "a plan — ☃", "none": "Mock response"}
    assert result.step_results["plan"].duration_ms >= 30
    assert result.total_cost_usd == 0.25
    assert sorted(watcher.replays) == [("flow", "none", "default"), ("flow", "plan", "step_id")]
    assert mock.server.exit_code == 0
    # AgentLoom's own definition has no `default_response`: what is not recorded is a miss.
    mock = mock_provider(WorkflowDefinition.model_validate(definition))
    result = run(engine(WorkflowDefinition.model_validate(definition), gateway(mock)))
    assert result.step_results["none"].error.startswith("RecordingMismatchError: ")
    assert outputs(result)["plan"] == "a plan — ☃"


@pytest.mark.parametrize(
    ("block", "said"),
    [
        ({"provider": "openai"}, "config.provider: found 'openai', expected 'mock'"),
        ({"config": ["mock"]}, r"config: found \['mock'\], expected a mapping"),
        ({"provider": "mock", "latency_model": "gamma"}, "unknown latency_model .gamma."),
        ({"provider": "mock", "responses_file": "there/is/none.json"}, "none.json"),
    ],
)
def test_a_wrong_block_is_refused(block, said):
    with pytest.raises(LoomrecError, match=said):
        mock_provider(block)


def test_the_mock_streams(responses):
    async def read(provider):
        stream = await provider.stream([{"role": "user", "content": "x"}], "gpt-4o-mini", step_id="plan")
        text = "".join([chunk async for chunk in stream])
        response = stream.to_provider_response()
        await provider.close()
        return text, response

    provider = MockProvider(responses_file=responses)
    text, response = asyncio.run(read(provider))
    assert text == response.content == "a plan — ☃"
    assert response.provider == "mock"
    assert response.usage.completion_tokens == 4
    assert provider.calls[0]["matched_by"] == "step_id"


def test_a_file_that_is_no_recording_is_refused_and_left_alone(apis, tmp_path):
    path = tmp_path / "bad.json"
    path.write_text("[]", encoding="utf-8")
    with pytest.raises(LoomrecError, match="bad.json"):
        RecordingProvider(provider_of(OPENAI, apis.url), path)
    assert held(path) == []


def test_the_recorder_adds_to_what_is_there(apis, responses):
    recorder = RecordingProvider(provider_of(OPENAI, apis.url), responses)
    run(engine(workflow(OPENAI.model, "more"), gateway(recorder)))
    assert set(held(responses)) >= {"plan", "short", "more"}
    assert held(responses)["plan"] == FILE["plan"]


def test_a_server_says_why_it_does_not_start(tmp_path, monkeypatch):
    with pytest.raises(LoomrecError, match="none.json"):
        LoomrecServer("replay", "-r", str(tmp_path / "none.json"))
    with pytest.raises(LoomrecError, match="failed to start"):
        LoomrecServer("replay", binary=str(tmp_path / "no-binary"))
    monkeypatch.setenv("LOOMREC_BIN", str(tmp_path / "no-binary"))
    with pytest.raises(LoomrecError, match="LOOMREC_BIN names"):
        find_binary()


def test_a_server_is_given_no_setting_of_another_run(responses, monkeypatch):
    """pytest may run under `loomrec replay` itself."""
    monkeypatch.setenv("LOOMREC_FAIL_UNUSED", "1")
    with LoomrecServer("replay", "-r", str(responses)) as server:
        pass
    assert server.exit_code == 0, server.messages
