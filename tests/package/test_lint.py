"""Linters over what cannot be run here: the workflow, the action, the image."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from conftest import ROOT, TOOLS

WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
ACTION = ROOT / ".github/actions/loomrec/action.yml"
KUBERNETES = sorted((ROOT / "docs/kubernetes").glob("*.yaml"))
IMAGE = ROOT / "scripts/package.Dockerfile"
SCRIPTS = [*sorted(ACTION.parent.glob("*.sh")), ROOT / "scripts/publish", ROOT / "tests/package/run"]


def test_workflows_pass_actionlint(tmp_path):
    # actionlint also runs shellcheck over the steps, if that is on the PATH.
    words = [TOOLS / "actionlint", f"-shellcheck={TOOLS / 'shellcheck'}"]
    done = _run(*words, *WORKFLOWS)
    assert done.returncode == 0, done.stdout
    broken = tmp_path / "broken.yml"
    broken.write_text(WORKFLOWS[0].read_text().replace("runs-on: ubuntu-24.04\n", "runs-on: ubuntu-99.04\n", 1))
    assert _run(*words, broken).returncode == 1


@pytest.mark.parametrize(("schema", "files"), [("workflows", WORKFLOWS), ("actions", [ACTION])])
def test_files_meet_their_schema(schema, files, tmp_path):
    words = [TOOLS / "check-jsonschema", "--builtin-schema", f"vendor.github-{schema}"]
    done = _run(*words, *files)
    assert done.returncode == 0, done.stdout
    broken = tmp_path / "broken.yml"
    broken.write_text(files[0].read_text().replace("name: ", "nam: ").replace("runs:", "run:").replace("jobs:", "job:"))
    assert _run(*words, broken).returncode == 1


def test_foreign_actions_are_pinned_to_a_commit():
    used = [line for file in (*WORKFLOWS, ACTION) for line in re.findall(r"uses: *(.+)", file.read_text())]
    assert len(used) > 5
    for line in used:
        assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", line), line


def test_image_passes_hadolint_and_documents_agree(tmp_path):
    done = _run(TOOLS / "hadolint", IMAGE)
    assert done.returncode == 0, done.stdout
    text = IMAGE.read_text()
    broken = tmp_path / "Dockerfile"
    broken.write_text(text.replace("FROM debian:stable-slim", "FROM debian:latest"))
    assert _run(TOOLS / "hadolint", broken).returncode == 1
    # Every image runs without root, and the page shows the very file.
    stages = text.split("\nFROM ")[1:]
    assert len(stages) == 2 and all("\nUSER 65532:65532\nENTRYPOINT" in stage for stage in stages)
    page = (ROOT / "docs/containers.md").read_text()
    assert "```dockerfile\n" + text + "```" in page


@pytest.mark.parametrize("file", KUBERNETES, ids=lambda path: path.name)
def test_kubernetes_examples_meet_the_schema(file, tmp_path):
    words = [TOOLS / "kubernetes-validate", "--strict", "--quiet"]
    done = _run(*words, file)
    assert done.returncode == 0, done.stdout + done.stderr
    broken = tmp_path / file.name
    broken.write_text(file.read_text().replace("runAsNonRoot: true", "runAsNobody: true"))
    assert _run(*words, broken).returncode != 0


def test_hub_of_the_example_has_time_to_drain():
    hub = KUBERNETES[0].read_text()
    [drain] = re.findall("--drain=([0-9]+)", hub)
    [grace] = re.findall("terminationGracePeriodSeconds: ([0-9]+)", hub)
    assert int(grace) >= int(drain) + 10


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.name)
def test_scripts_pass_shellcheck(script):
    done = _run(TOOLS / "shellcheck", "--external-sources", script)
    assert done.returncode == 0, done.stdout


def _run(*words: str | Path) -> subprocess.CompletedProcess:
    return subprocess.run(words, capture_output=True, encoding="utf-8", cwd=ROOT)
