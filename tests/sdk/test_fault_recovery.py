"""A program that goes through faults, and how `loomrec journal --recovery` judges it."""

import json
import subprocess

import pytest

import loop as ways
from fault_cases import ROOT

PLAIN = ROOT / "recordings/faults/plain.json"
PROGRAM = ways.command("openai_umbrella.py")
BUDGET = "max_detection_ms=5000,max_recovery_ms=20000"


@pytest.fixture
def through(loomrec, tmp_path):
    """Replays the program through as many 500s; gives the run, the calls and the score."""

    def run(times):
        plan, journal = tmp_path / "plan.json", tmp_path / "journal.jsonl"
        rule = {"name": "down", "match": {"step_id": "umbrella", "attempt": list(range(1, times + 1))},
                "fault": {"type": "http_error", "status_code": 500}}
        plan.write_text(json.dumps({"rules": [rule]}), encoding="utf-8")
        replayed = loomrec.replay(PLAIN, PROGRAM, "--allow-unchecked", "--faults", str(plan), "--journal", str(journal),
                                  "--recovery", BUDGET)
        line = [loomrec.binary, "journal", str(journal), "--json", "--recovery", BUDGET]
        scored = subprocess.run(line, capture_output=True, encoding="utf-8", check=False)
        lines = [json.loads(it) for it in journal.read_text(encoding="utf-8").splitlines()]
        statuses = [it["status"] for it in lines if "method" in it]
        return replayed, statuses, scored.returncode, json.loads(scored.stdout)

    return run


def test_two_retries_go_through_two_errors(through):
    replayed, statuses, code, score = through(2)
    assert replayed.document == {"text": "Yes, take an umbrella."}
    assert (replayed.code, statuses) == (0, [500, 500, 200]), replayed.stderr
    assert replayed.receipt["recovery"]["passed"] is True
    assert (code, score["passed"]) == (0, True)
    assert [fault["recovered"] for fault in score["faults"]] == [True, True]
    assert score["total"]["recovered"] == 2


def test_two_retries_do_not_go_through_three_errors(through):
    replayed, statuses, code, score = through(3)
    assert replayed.document["failed"]["class"] == "InternalServerError"
    assert (replayed.code, statuses) == (1, [500, 500, 500]), replayed.stderr
    assert replayed.receipt["recovery"]["passed"] is False
    assert (code, score["passed"]) == (1, False)
    assert [fault["recovered"] for fault in score["faults"]] == [False, False, False]
    assert score["total"]["recovered"] == 0
