"""AgentLoom's workflows, recorded and replayed by way of loomrec's Python module."""

from __future__ import annotations

import asyncio
import json
import urllib.request

import pytest
from agentloom.exceptions import ProviderError
from agentloom.providers.mock import MockProvider as AgentLoomMock
from agentloom.providers.recorder import RecordingProvider as AgentLoomRecorder
from loomrec.agentloom import (
    MockProvider,
    RecordingMismatchError,
    RecordingProvider,
    attach,
    with_step_ids,
)
from loomrec.server import LoomrecError, LoomrecServer

from conftest import KEY
from workflows import (
    ANTHROPIC,
    OPENAI,
    Watcher,
    answer_to,
    engine,
    errors,
    gateway,
    held,
    outputs,
    provider_of,
    run,
    workflow,
)

STEPS = ["plan", "draft", "Prüfung"]
ANSWERS = {step: answer_to(step) for step in STEPS}


@pytest.fixture
def recording(api, streamed, apis, tmp_path):
    """A workflow's recording, made by loomrec."""
    path = tmp_path / "flow.json"
    watcher = Watcher()
    recorder = RecordingProvider(provider_of(api, apis.url), path)
    made = engine(workflow(api.model, *STEPS, stream=streamed), gateway(recorder), watcher)
    assert outputs(run(made)) == ANSWERS
    assert sorted(step for step, *_ in watcher.captures) == sorted(STEPS)
    assert {name for _, name, _ in watcher.captures} == {api.provider.name}
    assert set(STEPS) <= set(held(path))
    return path


def test_a_workflow_that_loomrec_recorded_replays_in_loomrec_by_its_steps(recording, api, streamed):
    watcher = Watcher()
    with LoomrecServer("replay", "--strict", "-r", str(recording)) as server:
        made = engine(workflow(api.model, *STEPS, stream=streamed), gateway(api.provider()), watcher)
        link = attach(made, server.url)
        result = run(made)
    assert outputs(result) == ANSWERS
    assert server.exit_code == 0, server.messages
    assert sorted(watcher.replays) == sorted(("flow", step, "step_id") for step in STEPS)
    assert [(call["matched"], call["matched_by"]) for call in link.calls] == [(True, "step_id")] * 3
    asked = {call["step_id"]: call["messages"] for call in link.calls}
    assert asked == {step: [{"role": "user", "content": step}] for step in STEPS}
    assert link.mismatches == []


def test_the_metrics_name_the_workflow_of_each_call(recording, api, streamed):
    # The second run makes the calls of the first one again.
    arguments = ("replay", "--repeat", "last", "--metrics-compat", "-r", str(recording))
    with LoomrecServer(*arguments) as server:
        for name in ("first run", "zweiter Prüflauf"):
            flow = workflow(api.model, *STEPS, stream=streamed, name=name)
            made = engine(flow, gateway(api.provider()))
            attach(made, server.url)
            assert outputs(run(made)) == ANSWERS
        metrics = urllib.request.urlopen(f"{server.url}/metrics").read().decode()
    lines = [line for line in metrics.splitlines() if line.startswith("agentloom_mock_replays_total")]
    for name, count in (("first run", 3), ("zweiter Prüflauf", 3), ("flow", 0)):
        labels = f'{{workflow="{name}",matched_by="step_id"}}'
        assert f"agentloom_mock_replays_total{labels} {count}" in lines, lines


def test_a_workflow_that_loomrec_recorded_replays_in_agentlooms_mock(recording, api, streamed):
    mock = with_step_ids(AgentLoomMock(responses_file=recording, default_response="MADE UP"))
    result = run(engine(workflow(api.model, *STEPS, stream=streamed), gateway(mock)))
    assert outputs(result) == ANSWERS
    assert {step.token_usage.completion_tokens for step in result.step_results.values()} == {5}


def test_a_workflow_that_agentloom_recorded_replays_in_loomrec(api, apis, streamed, tmp_path):
    path = tmp_path / "agentloom.json"
    recorder = AgentLoomRecorder(provider_of(api, apis.url), path)
    # Its 0.4.0 records no streams.
    recorded = run(engine(workflow(api.model, *STEPS), gateway(with_step_ids(recorder))))
    assert outputs(recorded) == ANSWERS
    assert {name for name in held(path) if name != "_version"} == set(STEPS)
    with LoomrecServer("replay", "-r", str(path)) as server:
        made = engine(workflow(api.model, *STEPS, stream=streamed), gateway(api.provider()))
        attach(made, server.url)
        by_attaching = run(made)
    mock = MockProvider(responses_file=path)
    by_mock = run(engine(workflow(api.model, *STEPS, stream=streamed), gateway(mock)))
    for result in (by_attaching, by_mock):
        assert outputs(result) == ANSWERS
        for step, said in recorded.step_results.items():
            replayed = result.step_results[step]
            assert replayed.token_usage == said.token_usage
            # Its reader of OpenAI's streams takes the model that was asked for.
            assert streamed or replayed.model == said.model
    for step, said in recorded.step_results.items():
        if not streamed:
            assert by_mock.step_results[step].cost_usd == pytest.approx(said.cost_usd)
        assert by_mock.step_results[step].provider == "mock"


def test_steps_that_run_at_the_same_time_are_told_apart(apis, tmp_path):
    """Their requests are equal: only the step id on the wire tells them apart."""
    path, steps = tmp_path / "flow.json", [f"step {number}" for number in range(12)]
    same = [{"id": step, "prompt": "the same"} for step in steps]
    recorder = RecordingProvider(provider_of(OPENAI, apis.url), path)
    run(engine(workflow(OPENAI.model, *same), gateway(recorder)))
    assert {name for name in held(path) if not name.startswith("_")} == set(steps)
    assert all("x-loomrec-step-id" not in headers for headers in apis.headers_seen)
    assert sorted(call["step_id"] for call in recorder.calls) == sorted(steps)
    assert {call["outcome"] for call in recorder.calls} == {"recorded"}


def test_a_step_that_was_not_recorded_fails_at_once(recording, api, streamed):
    watcher = Watcher()
    definition = workflow(api.model, "plan", "unheard", stream=streamed)
    with LoomrecServer("replay", "-r", str(recording)) as server:
        fallback = api.provider()
        made = engine(definition, gateway(api.provider(), fallback, circuit_fail_threshold=1), watcher)
        link = attach(made, server.url)
        result = run(made)
    assert server.exit_code == 1
    assert "1 missed" in server.messages, server.messages
    assert result.status.value == "failed"
    assert outputs(result)["plan"] == ANSWERS["plan"]
    assert errors(result)["unheard"].startswith("RecordingMismatchError: ")
    assert ("unheard", "failed") in watcher.ended
    [mismatch] = link.mismatches
    assert mismatch.reason == "unknown request"
    assert mismatch.mismatch["step_id"] == "unheard"
    assert str(mismatch) == errors(result)["unheard"]
    assert ("flow", "unheard", "default") in watcher.replays
    if not streamed:
        assert watcher.circuits == [] and watcher.errors == []


def test_a_changed_prompt_is_told_with_what_differs(recording, api, streamed):
    with LoomrecServer("replay", "-r", str(recording)) as server:
        made = engine(
            workflow(
                api.model, {"id": "plan", "prompt": "another plan", "temperature": 0.5}, stream=streamed
            ),
            gateway(api.provider()),
        )
        attach(made, server.url)
        error = errors(run(made))["plan"]
    assert error.startswith("RecordingMismatchError: drifted: ")
    assert 'recorded "plan" now "another plan"' in error or 'recorded "plan", now "another plan"' in error
    assert "temperature" in error


def test_a_miss_is_an_exception_of_the_gateway_and_of_the_provider(recording, api):

    async def misses(server):
        providers = gateway(api.provider())
        link = attach(providers, server.url)
        for target in (providers, link.providers[0]):
            with pytest.raises(RecordingMismatchError) as caught:
                await target.complete([{"role": "user", "content": "x"}], api.model, step_id="none")
            # What AgentLoom's retry policies look at.
            assert caught.value.status_code == 422
            assert isinstance(caught.value, ProviderError)
        stream = await providers.stream([{"role": "user", "content": "x"}], api.model, step_id="none")
        with pytest.raises(RecordingMismatchError):
            await anext(stream)
        assert [call["matched"] for call in link.calls] == [False] * 3
        assert [call["step_id"] for call in link.calls] == ["none"] * 3
        await providers.close()

    with LoomrecServer("replay", "-r", str(recording)) as server:
        asyncio.run(misses(server))


def test_detaching_gives_a_gateway_its_own_providers_back():
    own = OPENAI.provider(api_key=KEY)
    before = str(own._client.base_url)
    providers = gateway(own)
    link = attach(providers, "http://127.0.0.1:9")
    assert str(own._client.base_url) == "http://127.0.0.1:9/openai/v1/"
    assert providers._providers[0].provider is not own
    link.detach()
    assert providers._providers[0].provider is own
    assert str(own._client.base_url) == before
    assert own._client.event_hooks == {"request": [], "response": []}


def test_a_provider_that_is_registered_later_is_attached_too(recording, api, streamed):
    with LoomrecServer("replay", "-r", str(recording)) as server:
        providers = gateway()
        attach(providers, server.url)
        providers.register(api.provider())
        result = run(engine(workflow(api.model, "plan", stream=streamed), providers))
    assert outputs(result) == {"plan": ANSWERS["plan"]}


def test_a_provider_of_another_host_is_not_sent_to_the_usual_upstream():
    """loomrec would send its key to OpenAI."""
    other = OPENAI.provider(api_key=KEY, base_url="https://api.groq.com/openai/v1")
    with pytest.raises(LoomrecError, match="mounts="):
        attach(gateway(other), "http://127.0.0.1:9")
    usual = ANTHROPIC.provider()
    with pytest.raises(LoomrecError):
        attach(gateway(usual, other), "http://127.0.0.1:9")
    assert str(usual._client.base_url) == "https://api.anthropic.com/v1/"
    link = attach(gateway(other), "http://127.0.0.1:9", mounts={"openai": "/groq/openai/v1"})
    assert str(other._client.base_url) == "http://127.0.0.1:9/groq/openai/v1/"
    link.detach()


def test_attach_says_what_it_lacks(monkeypatch):
    monkeypatch.delenv("LOOMREC_URL", raising=False)
    with pytest.raises(LoomrecError, match="no address of loomrec"):
        attach(gateway(OPENAI.provider()))
    with pytest.raises(LoomrecError, match="no provider"):
        attach(gateway(AgentLoomMock()), "http://127.0.0.1:9")


def test_a_control_token_opens_the_journal_and_without_it_headers_are_believed(tmp_path):
    path = tmp_path / "r.json"
    fault = {"type": "http_error", "status_code": 503}
    path.write_text(json.dumps({"plan": {"content": "a plan"}, "busy": {"fault": fault}}), encoding="utf-8")
    token = "a-token-of-the-tests"
    for given, outcome in ((token, "served"), (None, None)):
        watcher = Watcher()
        with LoomrecServer("replay", "-r", str(path), "--control-token", token) as server:
            made = engine(workflow(OPENAI.model, "plan", "busy"), gateway(OPENAI.provider()), watcher)
            link = attach(made, server.url, token=given)
            assert outputs(run(made))["plan"] == "a plan"
        plan, *busy = sorted(link.calls, key=lambda call: call["step_id"] != "plan")
        assert (plan["matched"], plan["matched_by"], plan["outcome"]) == (True, "step_id", outcome)
        assert [call["fault"] for call in busy] == ["http_error"] * 3
        assert ("flow", "plan", "step_id") in watcher.replays
