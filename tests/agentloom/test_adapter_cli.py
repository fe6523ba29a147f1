"""AgentLoom's command line on loomrec, and its subworkflows."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from loomrec.agentloom import attach
from loomrec.server import LoomrecServer, find_binary

from conftest import KEY
from workflows import OPENAI, Watcher, answer_to, engine, errors, gateway, held, run, workflow


#: The recordings with a fault each, and the workflow beside them.
EXAMPLES = Path(__file__).resolve().parents[2] / "recordings" / "faults"


def flow_file(folder, model: str, *steps, **config):
    """A workflow's file. JSON is YAML."""
    document = workflow(model, *steps).model_dump(mode="json", exclude_none=True)
    document["config"] |= config
    path = folder / "flow.yaml"
    path.write_text(json.dumps(document), encoding="utf-8")
    return path


def agentloom(folder, *words, through=(), code: int = 0, **variables) -> dict:
    """What a command of AgentLoom's prints as JSON, run on loomrec."""
    keys = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY", "GEMINI_API_KEY")
    clean = {k: v for k, v in os.environ.items() if k not in keys}
    python = [sys.executable, "-m", "loomrec.agentloom"]
    done = subprocess.run(
        [*through, *python, *map(str, words), "--json"], cwd=folder, env={**clean, **variables},
        capture_output=True, encoding="utf-8", check=False,
    )
    assert done.returncode == code, done.stdout + done.stderr
    printed = done.stdout[done.stdout.index("{"):]
    return json.JSONDecoder().raw_decode(printed)[0]


def test_the_command_line_records_and_replays(api, apis, tmp_path):
    flow = flow_file(tmp_path, api.model, "plan", "draft", provider=api.provider.name)
    recording = tmp_path / "r.json"
    name = api.provider.name.upper()
    variables = {f"{name}_API_KEY": KEY, f"{name}_BASE_URL": apis.url + api.version}
    agentloom(tmp_path, "run", flow, "--record", recording, "--lite", **variables)
    assert {"plan", "draft"} <= set(held(recording))
    asked = len(apis.headers_seen)
    replayed = agentloom(tmp_path, "replay", flow, "--recording", recording)
    mocked = agentloom(tmp_path, "run", flow, "--mock-responses", recording, "--lite")
    # The real providers, under loomrec: no key is needed.
    through = [find_binary(), "replay", "--strict", "-q", "-r", str(recording), "--"]
    attached = agentloom(tmp_path, "run", flow, "--lite", through=through)
    for result in (replayed, mocked, attached):
        said = {step: found["output"] for step, found in result["step_results"].items()}
        assert said == {"plan": answer_to("plan"), "draft": answer_to("draft")}
    assert len(apis.headers_seen) == asked


def test_the_command_line_reads_the_block(tmp_path):
    recording = tmp_path / "r.json"
    recording.write_text(json.dumps({"plan": {"content": "a plan"}}), encoding="utf-8")
    block = {"provider": "mock", "responses_file": "r.json"}
    flow = flow_file(tmp_path, OPENAI.model, "plan", "none", **block)
    result = agentloom(tmp_path, "run", flow, "--lite", code=1)
    assert result["step_results"]["none"]["error"].startswith("RecordingMismatchError: ")
    assert result["step_results"]["plan"]["output"] == "a plan"
    flow = flow_file(tmp_path, OPENAI.model, "plan", "none", default_response="Mock response", **block)
    result = agentloom(tmp_path, "run", flow, "--lite")
    assert result["step_results"]["none"]["output"] == "Mock response"


def test_the_steps_of_a_subworkflow_are_told_apart(tmp_path):
    inner = workflow(OPENAI.model, "first", "second", name="inner").model_dump(mode="json", exclude_none=True)
    step = {"id": "sub", "type": "subworkflow", "workflow_inline": inner, "output": "sub"}
    outer = workflow(OPENAI.model, step, "own")
    path = tmp_path / "r.json"
    entries = {step: {"content": step} for step in ("first", "second", "own")}
    path.write_text(json.dumps(entries), encoding="utf-8")
    watcher = Watcher()
    with LoomrecServer("replay", "-r", str(path)) as server:
        made = engine(outer, gateway(OPENAI.provider()), watcher)
        link = attach(made, server.url)
        result = run(made)
    assert result.status.value == "success", errors(result)
    assert sorted(call["step_id"] for call in link.calls) == ["first", "own", "second"]
    assert sorted(watcher.replays) == [("flow", step, "step_id") for step in ("first", "own", "second")]


def test_a_miss_in_a_subworkflow_fails_its_step_at_once(tmp_path):
    inner = workflow(OPENAI.model, "first", name="inner").model_dump(mode="json", exclude_none=True)
    step = {"id": "sub", "type": "subworkflow", "workflow_inline": inner, "output": "sub"}
    path = tmp_path / "r.json"
    path.write_text(json.dumps({"own": {"content": "own"}}), encoding="utf-8")
    with LoomrecServer("replay", "-r", str(path)) as server:
        made = engine(workflow(OPENAI.model, step, "own"), gateway(OPENAI.provider()))
        link = attach(made, server.url)
        result = run(made)
    assert [mismatch.mismatch["step_id"] for mismatch in link.mismatches] == ["first"]
    assert errors(result).keys() == {"sub"}
    assert errors(result)["sub"].startswith("RecordingMismatchError: ")
    assert result.step_results["own"].output == "own"


def example_faults() -> list[str]:
    """The examples that a complete answer meets: AgentLoom retries after each of them."""
    return [
        "http_error", "rate_limit", "drop", "connection_reset", "connection_drop", "disconnect",
        "timeout", "malformed_response", "malformed", "recover_after", "bad_encoding", "wrong_length",
        "slow", "plain",
    ]


@pytest.mark.parametrize("fault", example_faults())
def test_the_workflow_beside_the_fault_examples_recovers(fault, tmp_path):
    receipt = tmp_path / "receipt.json"
    through = [
        find_binary(), "replay", "-q", "-r", str(EXAMPLES / f"{fault}.json"), "--receipt", str(receipt), "--",
    ]
    done = agentloom(tmp_path, "run", EXAMPLES / "workflow.yaml", "--lite", through=through)
    assert done["step_results"]["umbrella"]["output"] == "Yes, take an umbrella."
    fired = json.loads(receipt.read_text(encoding="utf-8"))["faults"]
    expected = {"plain": 0, "recover_after": 2}.get(fault, 1)
    assert (fired or {}).get("fired", 0) == expected
