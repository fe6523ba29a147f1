"""The fault file of AgentLoom's issue, under its retry, its circuit breaker and its fallback."""

from __future__ import annotations

import asyncio
import json
import time

import httpx
import pytest
from agentloom.exceptions import ProviderError
from loomrec.agentloom import MockProvider, attach
from loomrec.agentloom.fault_exception import fault_exception
from loomrec.server import LoomrecServer

from workflows import APIS, OPENAI, Watcher, engine, errors, gateway, outputs, run, workflow

# As the issue proposes it: faults beside answers in one file, keyed by step.
BUSY = {"type": "http_error", "status_code": 503, "headers": {"retry-after": "1"}, "body": "busy"}
FILE = {
    "calm": {"content": "all is well", "usage": {"prompt_tokens": 3, "completion_tokens": 4}},
    "late": {"fault": {"type": "timeout", "after_ms": 50}},
    "busy": {"fault": BUSY},
    "limited": {"fault": {"type": "http_error", "status_code": 429}},
    "garbled": {"fault": {"type": "malformed_response", "raw": '{"choices": ['}},
    "cut": {"fault": {"type": "stream_truncate", "after_chunks": 2, "raise": "ConnectionError"}},
    "reset": {"fault": {"type": "connection_reset"}},
    "partial": {"fault": {"type": "partial_response", "content": "half an ans"}},
}

#: What a complete call raises. Streamed, AgentLoom's readers skip an event that does not parse.
RAISES = {
    "late": TimeoutError,
    "busy": ProviderError,
    "limited": ProviderError,
    "garbled": json.JSONDecodeError,
    "cut": ConnectionError,
    "reset": httpx.ConnectError,
}
STATUS = {"busy": 503, "limited": 429}

#: Newer versions have an exception of its own for a 429, which is a `ProviderError`, too.
LIMITED = "RateLimitError"


@pytest.fixture
def faults(tmp_path):
    path = tmp_path / "faults.json"
    path.write_text(json.dumps(FILE), encoding="utf-8")
    return path


def raised(streamed: bool) -> dict[str, type[Exception]]:
    return {step: kind for step, kind in RAISES.items() if not (streamed and step == "garbled")}


async def call(provider, api, step: str, streamed: bool):
    messages = [{"role": "user", "content": "x"}]
    if not streamed:
        return await provider.complete(messages, api.model, step_id=step)
    stream = await provider.stream(messages, api.model, step_id=step)
    async for _ in stream:
        pass
    return stream.to_provider_response()


def test_each_fault_is_the_exception_that_it_names_every_time(faults, api, streamed):
    async def check(server):
        link = attach(api.provider(), server.url)
        [provider] = link.providers
        for _ in range(2):
            for step, kind in raised(streamed).items():
                with pytest.raises(kind) as caught:
                    await call(provider, api, step, streamed)
                assert type(caught.value) is kind or type(caught.value).__name__ == LIMITED
                assert getattr(caught.value, "status_code", None) == STATUS.get(step)
                assert link.calls[-1]["fault"] == FILE[step]["fault"]["type"]
                assert (link.calls[-1]["matched"], link.calls[-1]["matched_by"]) == (True, "step_id")
            partial = await call(provider, api, "partial", streamed)
            assert (partial.content, partial.usage.completion_tokens) == ("half an ans", 0)
            assert partial.finish_reason in ("length", "max_tokens", "MAX_TOKENS")
            assert (await call(provider, api, "calm", streamed)).content == "all is well"
        if streamed:
            await call(provider, api, "garbled", streamed)
            assert link.calls[-1]["fault"] == FILE["garbled"]["fault"]["type"]
        await provider.close()

    with LoomrecServer("replay", "-r", str(faults)) as server:
        asyncio.run(check(server))
    assert server.exit_code == 0, server.messages


@pytest.mark.parametrize(
    "name",
    ["ConnectionError", "ConnectionResetError", "ReadError", "ConnectError", "RemoteProtocolError",
     "ReadTimeout", "TimeoutError"],
)
def test_a_truncated_answer_raises_the_exception_that_its_fault_names(tmp_path, api, streamed, name):
    path = tmp_path / "cut.json"
    fault = {"type": "stream_truncate", "after_chunks": 2, "raise": name}
    path.write_text(json.dumps({"cut": {"fault": fault}}), encoding="utf-8")

    async def check(server):
        [provider] = attach(api.provider(), server.url, timeout=1.0).providers
        with pytest.raises(Exception) as caught:
            await call(provider, api, "cut", streamed)
        assert type(caught.value).__name__ == name
        await provider.close()

    with LoomrecServer("replay", "-r", str(path)) as server:
        asyncio.run(check(server))


def test_a_hang_is_a_timeout_after_the_time_that_is_given(tmp_path, api, streamed):
    path = tmp_path / "hang.json"
    path.write_text(json.dumps({"slow": {"fault": {"type": "hang"}}}), encoding="utf-8")

    async def check(server):
        own = api.provider()
        link = attach(own, server.url, timeout=0.2)
        with pytest.raises(TimeoutError):
            await call(link.providers[0], api, "slow", streamed)
        assert link.calls[0]["fault"] == "hang"
        link.detach()
        assert own._client.timeout == httpx.Timeout(60.0)
        await own.close()

    with LoomrecServer("replay", "-r", str(path)) as server:
        asyncio.run(check(server))


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("ConnectionError", ConnectionError),
        ("ConnectionResetError", ConnectionResetError),
        ("TimeoutError", TimeoutError),
        ("ReadTimeout", httpx.ReadTimeout),
        ("ReadError", httpx.ReadError),
        ("ConnectError", httpx.ConnectError),
        ("RemoteProtocolError", httpx.RemoteProtocolError),
        ("RuntimeError", RuntimeError),
        ("ProviderError", ProviderError),
    ],
)
def test_each_name_of_an_exception_is_that_exception(name, kind):
    fault = {"type": "stream_truncate", "rule": "cut", "raise": name}
    broken = httpx.ReadError("the connection broke")
    made = fault_exception("openai", fault, broken)
    assert type(made) is kind
    assert "the connection broke" in str(made)


def test_a_truncation_without_a_name_is_what_happened():
    fault = {"type": "stream_truncate", "rule": "cut", "raise": None}
    assert type(fault_exception("openai", fault, httpx.ReadError("broke"))) is ConnectionError
    sent = ProviderError("openai", "API error 500: overloaded", 500)
    assert fault_exception("openai", fault, sent) is sent


def one_run(faults, api, streamed):
    """What the engine made of each step, and what each attempt failed by."""
    watcher = Watcher()
    with LoomrecServer("replay", "-r", str(faults)) as server:
        providers = gateway(api.provider(), circuit_fail_threshold=1000)
        made = engine(workflow(api.model, *FILE, stream=streamed), providers, watcher)
        attach(made, server.url)
        result = run(made)
    said = {step: (found.status.value, found.output) for step, found in result.step_results.items()}
    attempts = [(name, kind.replace(LIMITED, "ProviderError")) for name, kind in watcher.errors]
    return said, sorted(attempts), sorted(watcher.faults), errors(result)


def test_a_workflow_meets_the_same_faults_at_the_same_steps_in_every_run(faults, api, streamed):
    first, second = one_run(faults, api, streamed), one_run(faults, api, streamed)
    assert first[:3] == second[:3]
    said, attempts, faulted, texts = first
    failing = raised(streamed)
    assert said["calm"] == ("success", "all is well")
    assert said["partial"] == ("success", "half an ans")
    assert {step for step, (status, _) in said.items() if status == "failed"} == set(failing)
    # Two retries: each attempt meets the fault of its step.
    expected = [kind.__name__ for kind in failing.values() for _ in range(3)]
    assert attempts == sorted((api.provider.name, name) for name in expected)
    for step in failing:
        assert faulted.count((step, FILE[step]["fault"]["type"])) == 3
    assert "503" in texts["busy"]


def test_a_retry_gets_the_answer_behind_a_fault(tmp_path, api, streamed):
    path = tmp_path / "once.json"
    fault = {"type": "http_error", "status_code": 503, "times": 1}
    path.write_text(json.dumps({"plan": {"content": "at last", "fault": fault}}), encoding="utf-8")
    watcher = Watcher()
    with LoomrecServer("replay", "-r", str(path)) as server:
        made = engine(workflow(api.model, "plan", stream=streamed), gateway(api.provider()), watcher)
        link = attach(made, server.url)
        result = run(made)
    assert outputs(result) == {"plan": "at last"}
    assert watcher.errors == [(api.provider.name, "ProviderError")]
    assert [call["fault"] for call in link.calls] == ["http_error", None]


def test_a_fault_opens_the_circuit_and_the_fallback_answers(tmp_path):
    """One provider fails at each call: its circuit opens after two, and is not asked again."""
    path = tmp_path / "fallback.json"
    entries = {step: {"content": step} for step in ("a", "b", "c")}
    path.write_text(json.dumps(entries), encoding="utf-8")
    plan = tmp_path / "plan.json"
    fault = {"type": "http_error", "status_code": 500}
    rule = {"name": "down", "match": {"upstream": "openai"}, "fault": fault}
    plan.write_text(json.dumps({"rules": [rule]}), encoding="utf-8")
    watcher = Watcher()
    primary, fallback = OPENAI.provider(), APIS[1].provider()
    providers = gateway()
    providers.register(primary, circuit_fail_threshold=2)
    providers.register(fallback, priority=1, is_fallback=True)
    steps = [{"id": "a"}, {"id": "b", "depends_on": ["a"]}, {"id": "c", "depends_on": ["b"]}]
    with LoomrecServer("replay", "-r", str(path), "--faults", str(plan)) as server:
        made = engine(workflow(OPENAI.model, *steps), providers, watcher)
        link = attach(made, server.url)
        result = run(made)
    assert outputs(result) == {"a": "a", "b": "b", "c": "c"}
    assert watcher.circuits == ["openai open"]
    asked = [(call["step_id"], call["fault"]) for call in link.calls]
    assert asked == [("a", "http_error"), ("a", None), ("b", "http_error"), ("b", None), ("c", None)]


def test_a_timeout_of_the_workflow_is_agentlooms_own(tmp_path):
    path = tmp_path / "hang.json"
    path.write_text(json.dumps({"slow": {"fault": {"type": "hang"}}}), encoding="utf-8")
    step = {"id": "slow", "timeout": 0.2, "retry": {"max_retries": 0}}
    mock = MockProvider(responses_file=path)
    began = time.monotonic()
    result = run(engine(workflow(OPENAI.model, step), gateway(mock)))
    assert result.step_results["slow"].status.value == "timeout"
    assert time.monotonic() - began < 10
