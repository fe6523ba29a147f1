"""The plug-in leaves other projects alone, and says clearly what is wrong."""

import os
import re
from pathlib import Path

import pytest

PLAIN = "import os\n\ndef test_plain():\n    assert dict(os.environ).get('LOOMREC_URL') is None\n"
MARKED = "import pytest\nfrom assistant import ask\n\n@pytest.mark.loomrec{mark}\ndef test_it({fixture}):\n    {body}\n"


def marked(mark: str = "", fixture: str = "", body: str = "ask('hi')") -> str:
    return MARKED.format(mark=mark, fixture=fixture, body=body)


@pytest.mark.parametrize("processes", [[], ["-n", "2"]], ids=["one process", "workers"])
def test_project_without_the_mark_starts_no_server(bare_project, processes):
    bare_project.path("pyproject.toml").unlink()
    bare_project.write("tests/test_plain.py", PLAIN.replace("LOOMREC_URL", "OPENAI_BASE_URL"))
    plain = bare_project.run(*processes, LOOMREC_BIN="/nowhere")
    assert plain.counts == {"passed": 1}, plain.stdout + plain.stderr
    assert "loomrec" not in plain.stdout + plain.stderr


@pytest.mark.parametrize("processes", [[], ["-n", "2"]], ids=["one process", "workers"])
def test_mark_alone_is_enough(bare_project, processes):
    """No option, no settings: the module is imported with the variables set."""
    bare_project.write("pyproject.toml", '[tool.pytest.ini_options]\npythonpath = ["."]\n')
    bare_project.write("tests/test_it.py", marked(fixture="loomrec", body="assert loomrec.mode == 'replay'"))
    bare_project.write("tests/test_plain.py", PLAIN)
    done = bare_project.run(*processes)
    assert done.counts == {"passed": 2}, done.stdout + done.stderr
    assert done.said == ["marked tests without a call: tests/test_it.py::test_it"]


@pytest.mark.parametrize("processes", [[], ["-n", "2"]], ids=["one process", "workers"])
def test_marked_test_without_a_server_fails(bare_project, processes):
    """A server that starts after the imports is too late for the clients that they built."""
    bare_project.write("pyproject.toml", '[tool.pytest.ini_options]\npythonpath = ["."]\n')
    bare_project.write("helpers.py", "import pytest\nrecorded = pytest.mark.loomrec\n")
    bare_project.write("tests/test_it.py", HELPED)
    bare_project.write("tests/test_plain.py", PLAIN)
    direct = {"OPENAI_BASE_URL": bare_project.upstream.url + "/v1"}
    done = bare_project.run(*processes, **direct)
    assert done.counts == {"passed": 1, "error": 1} and done.code == 1, done.stdout + done.stderr
    assert "neither test modules nor a conftest.py mention loomrec" in done.stdout
    assert bare_project.upstream.connections == 0
    asked = bare_project.run("--loomrec=replay", *processes, **direct)
    assert "there is no recording tests/recordings/test_it/test_it.json" in asked.stdout, asked.stdout
    bare_project.write("conftest.py", "# loomrec\n")
    mentioned = bare_project.run(*processes, **direct)
    assert "there is no recording tests/recordings/test_it/test_it.json" in mentioned.stdout, mentioned.stdout


HELPED = """
import os
from helpers import recorded
from assistant import ask

@recorded
def test_it():
    ask("hi")
"""


@pytest.mark.parametrize("setting", ["quiet = true", 'log-format = "json"'])
def test_setting_of_the_messages_does_not_keep_the_server_from_starting(bare_project, setting):
    bare_project.write("loomrec.toml", setting + "\n")
    bare_project.write("tests/test_it.py", marked(fixture="loomrec", body="assert loomrec.mode == 'record'"))
    done = bare_project.record()
    assert done.counts == {"passed": 1}, done.stdout + done.stderr


def test_remedy_for_settings_that_are_not_trusted_works(bare_project):
    bare_project.write("loomrec.toml", f'redact = ["CUST-[0-9]+"]\n[upstreams]\nopenai = "{bare_project.upstream.url}"\n')
    bare_project.write("tests/test_it.py", marked(fixture="loomrec", body="assert loomrec.mode == 'replay'"))
    refused = bare_project.run()
    assert refused.code == 4, refused.stdout
    (grant,) = set(re.findall("LOOMREC_TRUST=([0-9a-f]+)", refused.stderr))
    done = bare_project.run(LOOMREC_TRUST=grant, CI="1")
    assert done.counts == {"passed": 1}, done.stdout + done.stderr


def test_checkout_needs_two_variables(project, tmp_path):
    """Nothing is installed but the binary on the PATH: docs/pytest.md, its first lines."""
    project.leave_out_sdks()
    binaries = tmp_path / "binaries"
    binaries.mkdir()
    (binaries / "loomrec").symlink_to(Path(os.environ["LOOMREC_BIN"]).resolve())
    source = Path(__file__).parents[2] / "src" / "python"
    path = os.pathsep.join([str(binaries), os.environ["PATH"]])
    variables = {"PATH": path, "LOOMREC_BIN": "", "PYTHONPATH": str(source)}
    done = project.run("-p", "no:randomly", PYTEST_PLUGINS="loomrec.pytest_plugin", **variables)
    assert done.code == 0, done.stdout
    assert any("replayed" in line for line in done.said), done.stdout


def test_server_that_is_missing_or_does_not_start_is_a_usage_error(project):
    missing = project.run(LOOMREC_BIN="/nowhere")
    assert missing.code == 4 and "LOOMREC_BIN names /nowhere" in missing.stderr
    project.edit("pyproject.toml", "[tool.loomrec.pytest]", '[tool.loomrec.pytest]\nargs = ["--no-such-flag"]')
    refused = project.run()
    assert refused.code == 4 and "--no-such-flag" in refused.stderr


def test_server_that_dies_fails_the_tests_after_it(project):
    note, binary = project.path("pid"), project.path("loomrec-that-notes-its-pid")
    binary.write_text(f'#!/bin/sh\necho $$ >"{note}"\nexec "{os.environ["LOOMREC_BIN"]}" "$@"\n')
    binary.chmod(0o755)
    project.write("tests/test_killer.py", KILLER.format(note=str(note)))
    died = project.run("tests/test_killer.py", LOOMREC_BIN=str(binary))
    assert died.counts == {"failed": 1, "passed": 1, "error": 1}, died.stdout
    assert "the server ended during the run, with exit code -9" in died.stdout
    assert any(line.startswith("the server ended") for line in died.said)


KILLER = '''
import os, signal, time
import pytest

@pytest.mark.loomrec
def test_kills_the_server():
    os.kill(int(open({note!r}).read()), signal.SIGKILL)
    time.sleep(0.2)

@pytest.mark.loomrec
def test_after_it():
    pass

def test_unmarked():
    pass
'''


@pytest.mark.parametrize("settings, message", [
    ("recordngs = 'x'", "unknown key `recordngs` in [tool.loomrec.pytest]; did you mean `recordings`?"),
    ("auto = 'tests'", "`auto` in [tool.loomrec.pytest] must be a list of texts"),
    ("auto = ['nosuch']", "`auto` in [tool.loomrec.pytest] names nosuch, which does not exist"),
    ("mode = 'rewrite'", "`mode` in [tool.loomrec.pytest] must be one of replay, review, record, new, off"),
    ("recordings = '../x'", "must be a folder beside the tests"),
])
def test_wrong_setting_is_a_usage_error(bare_project, settings, message):
    bare_project.write("pyproject.toml", f"[tool.loomrec.pytest]\n{settings}\n")
    bare_project.write("tests/test_plain.py", PLAIN)
    refused = bare_project.run()
    assert refused.code == 4 and message in refused.stderr, refused.stderr


@pytest.mark.parametrize("mark, message", [
    ("(recordng='x')", "the mark has no argument `recordng`; did you mean `recording`?"),
    ("(zzz=1)", "known: recording, fault, faults, recovery, ignore, normalize, mode, allow_unused"),
    ("('x')", "the mark takes arguments by name only"),
    ("(recording='../x')", "must be the name of a file beside the other recordings"),
    ("(fault='no_such_fault')", "no_such_fault"),
])
def test_wrong_mark_is_an_error_of_the_test(bare_project, mark, message):
    bare_project.write("tests/test_it.py", marked(mark))
    wrong = bare_project.run()
    assert wrong.counts == {"error": 1} and message in wrong.stdout, wrong.stdout


def test_fixture_asks_for_loomrec_as_the_mark_does(bare_project):
    bare_project.write("tests/test_it.py", "def test_it(loomrec):\n    assert loomrec.mode == 'replay'\n")
    assert bare_project.run().counts == {"passed": 1}
    bare_project.write("tests/test_it.py", "def test_it(request):\n    request.getfixturevalue('loomrec')\n")
    wrong = bare_project.run()
    assert wrong.counts == {"failed": 1}, wrong.stdout
    assert "the fixture `loomrec` needs the mark: @pytest.mark.loomrec" in wrong.stdout


def test_value_of_the_run_comes_before_the_first_call(project):
    project.edit("tests/test_shapes.py", '    loomrec.var("ticket", ticket)\n', "")
    project.edit("tests/test_shapes.py", "Close {ticket} please\")", "Close {ticket} please\")\n    loomrec.var('late', 'x')")
    late = project.record("tests/test_shapes.py", "-k", "value")
    assert "the value `late` comes too late: give it before the test's first call" in late.stdout, late.stdout


def test_fault_that_never_happens_tests_nothing(project):
    project.edit("tests/test_sdks.py", "def test_fault_plan():", "def test_fault_plan():\n    return")
    untested = project.run("tests/test_sdks.py", "-k", "plan")
    assert untested.counts["failed"] == 1, untested.stdout
    assert "loomrec: never happened: down (allow_unfired=True" in untested.stdout, untested.stdout
    project.edit("tests/test_sdks.py", "faults={", "allow_unfired=True, faults={")
    allowed = project.run("tests/test_sdks.py", "-k", "plan")
    assert allowed.counts["passed"] == 1, allowed.stdout


def test_missed_budget_fails_the_test(project):
    project.edit("tests/test_sdks.py", "retry_after_ms=10;times=1", "retry_after_ms=400;times=1")
    project.edit("tests/test_sdks.py", "max_recovery_ms=5000", "max_recovery_ms=20")
    late = project.run("tests/test_sdks.py", "-k", "recovers")
    assert late.counts["failed"] == 1, late.stdout
    assert "loomrec: " in late.stdout, late.stdout
    assert "more than 20 ms" in late.stdout, late.stdout
