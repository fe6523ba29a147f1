"""scripts/publish: what is there already is skipped, and a run that stopped can be run again."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from conftest import PACKAGES, ROOT
from npm_registry import NpmRegistry
from package_formats.target import TARGETS, host_triple

HOST = f"@loomrec/cli-{TARGETS[host_triple()].npm}"

# npm makes provenance only in a CI service, so these tests go without it.
NPM = """#!/bin/sh
for word; do
    shift
    [ "$word" = --provenance ] && word=--provenance=false
    set -- "$@" "$word"
done
exec {npm} "$@"
"""

# cargo as the registry lets it be: told by a file how each crate ends.
CARGO = """#!/usr/bin/env python3
import json, pathlib, subprocess, sys
words = sys.argv[1:]
if words[0] != "publish":
    sys.exit(subprocess.run(["{cargo}", *words]).returncode)
name = words[words.index("--package") + 1]
file = pathlib.Path("{state}")
state = json.loads(file.read_text())
state["tried"].append(name)
said = state["answers"].get(name, [""]).pop(0) if state["answers"].get(name) else ""
if not said and name in state["published"]:
    said = f"error: crate {{name}}@0.1.0 already exists on crates.io index"
if not said:
    state["published"].append(name)
file.write_text(json.dumps(state))
sys.exit(said or 0)
"""


@pytest.fixture
def registry():
    registry = NpmRegistry()
    yield registry
    registry.close()


@pytest.fixture
def publish(tmp_path, registry):
    """Runs scripts/publish with npm at the registry, and a cargo that does what its state says."""
    programs, state = tmp_path / "programs", tmp_path / "state.json"
    programs.mkdir()
    for name, text in (("npm", NPM), ("cargo", CARGO)):
        real = shutil.which(name)
        (programs / name).write_text(text.format(npm=real, cargo=real, state=state))
        (programs / name).chmod(0o755)

    def run(*words: str, **variables: str) -> subprocess.CompletedProcess:
        environment = {**os.environ, "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}", "HOME": str(tmp_path),
                       "CARGO_HOME": os.environ.get("CARGO_HOME", str(Path.home() / ".cargo")),
                       "RUSTUP_HOME": os.environ.get("RUSTUP_HOME", str(Path.home() / ".rustup")),
                       "NPM_CONFIG_REGISTRY": registry.url, "NPM_CONFIG_USERCONFIG": str(tmp_path / "npmrc"),
                       "NPM_CONFIG_FETCH_RETRIES": "0", "LOOMREC_CRATE_PAUSE": "0", **variables}
        return subprocess.run([ROOT / "scripts/publish", *words], env=environment, capture_output=True,
                              encoding="utf-8")

    run.state = state
    return run


def test_npm_packages_are_published_with_a_token_and_what_is_there_is_skipped(publish, registry):
    words = ("npm", "--packages", str(PACKAGES))
    done = publish(*words, NPM_TOKEN="npm_0123456789")
    assert done.returncode == 0, done.stdout + done.stderr
    assert registry.published == [HOST, "@loomrec/cli"]
    assert registry.tokens == {"Bearer npm_0123456789"}
    # A run that stopped after the first one.
    del registry.packages["@loomrec/cli"]
    again = publish(*words)
    assert again.returncode == 0, again.stdout + again.stderr
    assert f"{HOST}@" in again.stdout and "is there already" in again.stdout
    assert registry.published == [HOST, "@loomrec/cli", "@loomrec/cli"]


def crates(publish, answers: dict, published: list[str]) -> tuple[subprocess.CompletedProcess, dict]:
    publish.state.write_text(json.dumps({"tried": [], "answers": answers, "published": published}))
    done = publish("crates")
    return done, json.loads(publish.state.read_text())


def test_crates_are_published_in_order_and_wait_for_the_registry(publish):
    later = "error: 429 Too Many Requests: You have published too many new crates. Please try again after Fri, 4 Dec"
    done, state = crates(publish, {"loomrec-identity": [later, later]}, [])
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("the registry wants it later") == 2
    published = state["published"]
    assert published[0] == "loomrec-os" and published[-1] == "loomrec" and "loomrec-fuzz" not in published
    manifests = {name: (ROOT / "src" / name.removeprefix("loomrec-").replace("-", "_") / "Cargo.toml").read_text()
                 for name in published[:-1]}
    for at, name in enumerate(published[:-1]):
        needed = manifests[name].partition("[dependencies]")[2].partition("[")[0]
        for other in published[at:]:
            assert f"\n{other}.workspace" not in needed, f"{name} is published before {other}"


def test_run_that_stopped_goes_on_where_it_was(publish):
    done, state = crates(publish, {"loomrec-fault": ["error: the upload failed"]}, ["loomrec-os", "loomrec-identity"])
    assert done.returncode == 1
    assert "the upload failed" in done.stderr and "run this again" in done.stderr
    assert "loomrec-os: there already" in done.stdout
    again, state = crates(publish, {}, state["published"])
    assert again.returncode == 0, again.stderr
    assert "loomrec-os: there already" in again.stdout and "loomrec-fault: published" in again.stdout
    members = list((ROOT / "src").glob("*/Cargo.toml"))
    assert len(state["published"]) == len(set(state["published"])) == len(members) + 1


def test_publishing_needs_one_approval():
    workflow = (ROOT / ".github/workflows/release.yml").read_text()
    assert workflow.count("environment: publish") == 1
    job = workflow[workflow.index("environment: publish"):]
    for registry in ("pypi", "npm", "crates"):
        assert f"scripts/publish {registry}" in job
    assert "strategy:" not in job
