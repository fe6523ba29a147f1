"""Whether `loomrec noise` finds the rules of an agent in two recordings."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

from agent_run import CHANGED, PROMPT, AgentRun
from place import Place

NOISE_HEADER = """\
| program | version | explained | rules | equal with them | changed word refused | what it proposes |
|---|---|---|---|---|---|---|
"""


def try_noise(run: AgentRun) -> str:
    """Records an agent in two places, and lets loomrec find the rules. Returns a row."""
    run.log.unlink(missing_ok=True)
    name = f"{run.recipe.name} | {run.programs.name.partition('@')[2] or 'newest'}"
    # The commit has another hash there.
    elsewhere = Place(run.base / "now/build/1234/deeper/checkout", run.base / "now/ci-home",
                      "runner", 3, True, "2026-01-02")
    try:
        one = record_without_rules(run, run.place(), "a")
        other = record_without_rules(run, elsewhere, "b")
        changed = record_without_rules(run, elsewhere, "c", CHANGED)
    except RuntimeError as failed:
        return f"| {name} | NO: {failed} | - | - | - | - |"
    refuses = {0: "NO", 1: "yes"}.get(noise(run, one, changed)[0], "NO")
    code, text = noise(run, one, other, "--apply")
    rules = re.findall("^  (--normalize.*)", text, re.M)
    again = noise(run, one, other)[0]
    explained = "yes" if code == 0 else f"NO: exit {code}"
    proposed = "; ".join(f"`{rule}`" for rule in rules).replace("|", "\\|")
    return f"| {name} | {explained} | {len(rules)} | {'yes' if again == 0 else 'NO'} | {refuses} " \
           f"| {proposed} |"


def record_without_rules(run: AgentRun, place: Place, name: str, prompt: str = PROMPT) -> Path:
    """Records in this place. Returns a copy of the recording without the rules of the preset,
    whose variables and arguments some agents need."""
    outcome = run.record(place, prompt)
    if outcome.code or not run.recording().exists():
        raise RuntimeError(f"record: exit {outcome.code}")
    recording = json.loads(run.recording().read_text())
    recording["_loomrec"]["identity"].pop("normalize", None)
    kept = run.log.parent / "noise" / f"{run.base.name}-{name}.json"
    kept.parent.mkdir(exist_ok=True)
    kept.write_text(json.dumps(recording))
    return kept


def noise(run: AgentRun, one: Path, other: Path, *more: str) -> tuple[int, str]:
    """Returns what `loomrec noise` says of two recordings."""
    done = subprocess.run([run.loomrec, "noise", one, other, *more], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    with run.log.open("a") as log:
        log.write(f"\n===== noise {' '.join(more)}: exit {done.returncode}\n{done.stdout}\n")
    return done.returncode, done.stdout
