"""A call that was not recorded fails its test, whatever the test does with the error."""

import dataclasses
import xml.etree.ElementTree as xml

import pytest

ODD = '''
import unittest
import urllib.error
import pytest
from assistant import ask, careless
pytestmark = pytest.mark.loomrec

def test_skips_itself():
    try:
        ask("never recorded")
    except urllib.error.HTTPError:
        pytest.skip("the provider is down")

@pytest.mark.xfail(reason="not yet")
def test_fails_as_expected():
    careless("never recorded")

@pytest.mark.xfail(strict=True)
def test_fails_as_expected_by_itself():
    ask("never recorded")

def test_expects_an_error():
    with pytest.raises(urllib.error.HTTPError):
        ask("never recorded")

@pytest.fixture
def before():
    careless("never recorded")

def test_setup_hides_it(before):
    pass

@pytest.fixture
def after():
    yield
    careless("never recorded")

def test_teardown_hides_it(after):
    pass

@pytest.mark.xfail
def test_xfail_teardown_hides_it(after):
    assert 0

@pytest.fixture
def model():
    try:
        ask("never recorded")
    except urllib.error.HTTPError:
        pytest.skip("no model")

def test_setup_skips(model):
    pass

@pytest.fixture
def release():
    yield
    try:
        ask("never recorded")
    except urllib.error.HTTPError:
        pytest.skip("no model")

def test_teardown_skips(release):
    pass

def test_skip_and_teardown_hides_it(after):
    pytest.skip("for another reason")

class TestUnit(unittest.TestCase):
    def test_unit_skips(self):
        try:
            ask("never recorded")
        except urllib.error.HTTPError:
            self.skipTest("no model")

class TestUnitSetup(unittest.TestCase):
    def setUp(self):
        try:
            ask("never recorded")
        except urllib.error.HTTPError:
            self.skipTest("no model")

    def test_unit_setup_skips(self):
        pass
'''
#: A hook outside of the plug-in's, which has the last word on each report.
FORGIVING = """
import pytest

@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(item, call):
    report = yield
    report.outcome = "passed"
    return report
"""
EXIT = """
import urllib.error
import pytest
from assistant import ask

@pytest.mark.loomrec
def test_exits():
    try:
        ask("never recorded")
    except urllib.error.HTTPError:
        pytest.exit("no model", returncode=0)
"""


def test_changed_prompt_fails_one_test_and_says_what_changed(project):
    project.edit("sdks.py", 'PLACE = "Paris"', 'PLACE = "Oslo"')
    changed = project.run("-n", "2", "tests/test_sdks.py", "-k", "umbrella or stream")
    assert changed.code == 1
    assert changed.counts == {"failed": 1, "passed": 1}, changed.stdout
    assert "UnprocessableEntityError" in changed.stdout, "the test's own error is kept"
    section = changed.stdout.split(" loomrec ---")[1]
    assert "drifted: POST /v1/chat/completions to openai" in section
    assert "/messages/0/content" in section
    assert "Do I need an umbrella in Paris?" in section and "Do I need an umbrella in Oslo?" in section
    assert "pytest --loomrec=record tests/test_sdks.py::test_umbrella" in section
    assert project.upstream.connections == 0


def test_swallowed_miss_fails_the_test(project):
    project.edit("tests/test_shapes.py", "anything at all", "anything else")
    report = project.path("report.xml")
    failed = project.run("tests/test_shapes.py", "-k", "careless", f"--junitxml={report}")
    assert failed.counts["failed"] == 1, failed.stdout
    assert "loomrec: 1 call has no recorded answer" in failed.stdout
    assert "item_session.py" not in failed.stdout, "no traceback of the plug-in"
    failures = xml.parse(report).findall(".//failure")
    assert len(failures) == 1 and "anything else" in failures[0].text
    stopped = project.run("tests/test_shapes.py", "-x", "--deselect", "tests/test_shapes.py::test_careless")
    assert stopped.code == 0, stopped.stdout
    stopped = project.run("tests/test_shapes.py", "-x")
    assert "stopping after 1 failures" in stopped.stdout


@pytest.mark.parametrize("processes", [[], ["-n", "2"]], ids=["one process", "workers"])
def test_miss_counts_in_every_phase_and_under_every_mark(project, processes):
    project.write("tests/test_odd.py", ODD)
    odd = project.run("tests/test_odd.py", "-rA", *processes)
    counts = {"failed": 7, "passed": 2, "error": 5, "skipped": 1, "xfailed": 1}
    assert odd.counts == counts, odd.stdout
    for name in ("test_skips_itself", "test_fails_as_expected", "test_fails_as_expected_by_itself",
                 "test_expects_an_error", "test_setup_hides_it", "TestUnit::test_unit_skips",
                 "TestUnitSetup::test_unit_setup_skips"):
        assert f"FAILED tests/test_odd.py::{name}" in odd.stdout, odd.stdout
    for name in ("teardown_hides_it", "xfail_teardown_hides_it", "setup_skips", "teardown_skips",
                 "skip_and_teardown_hides_it"):
        assert f"ERROR tests/test_odd.py::test_{name}" in odd.stdout, odd.stdout


@pytest.mark.parametrize("processes", [[], ["-n", "2"]], ids=["one process", "workers"])
def test_miss_that_no_report_shows_fails_the_run(project, processes):
    project.write("tests/conftest.py", FORGIVING + project.path("tests/conftest.py").read_text())
    project.edit("tests/test_shapes.py", "anything at all", "anything else")
    forgiven = project.run("tests/test_shapes.py", "-k", "careless", *processes)
    assert forgiven.code == 1 and "failed" not in forgiven.counts, forgiven.stdout
    told = "tests had calls without a recorded answer, and did not fail: tests/test_shapes.py::test_careless"
    assert told in forgiven.said, forgiven.said


def test_miss_before_an_exit_fails_the_run(project):
    project.write("tests/test_exit.py", EXIT)
    ended = project.run("tests/test_exit.py")
    told = "tests had calls without a recorded answer, and did not fail: tests/test_exit.py::test_exits"
    assert ended.code == 1 and told in ended.said, ended.stdout + ended.stderr


def test_missing_recording_says_how_to_record(project):
    project.path("tests/recordings/test_shapes/test_capital.json").unlink()
    failed = project.run("tests/test_shapes.py", "-k", "test_capital")
    assert failed.counts["failed"] == 1
    assert ("there is no recording tests/recordings/test_shapes/test_capital.json: run"
            " `pytest --loomrec=record tests/test_shapes.py::test_capital` once") in failed.stdout
    assert project.record("tests/test_shapes.py::test_capital").code == 0
    assert project.run("tests/test_shapes.py").code == 0


@pytest.mark.parametrize("processes", [[], ["-n", "2"]], ids=["one process", "workers"])
def test_command_that_records_is_for_the_folder_of_the_run(project, processes):
    project.edit("tests/test_shapes.py", "of France", "of Norway")
    below = dataclasses.replace(project, folder=project.path("tests"))
    failed = below.run("test_shapes.py", "-k", "test_capital", *processes)
    assert "If the change is meant: pytest --loomrec=record test_shapes.py::test_capital" in failed.stdout
    assert below.record("test_shapes.py::test_capital").code == 0
    assert project.run("tests/test_shapes.py").code == 0


def test_rerun_begins_anew(project):
    project.write("tests/test_flaky.py", FLAKY)
    recorded = project.record("--reruns", "2", "tests/test_flaky.py")
    assert recorded.counts == {"passed": 1, "rerun": 1}, recorded.stdout
    assert b"attempt 2" in project.recordings()["tests/recordings/test_flaky/test_flaky.json"]
    assert b"attempt 1" not in project.recordings()["tests/recordings/test_flaky/test_flaky.json"]
    replayed = project.run("--reruns", "2", "tests/test_flaky.py")
    assert replayed.counts == {"passed": 1, "rerun": 1}, replayed.stdout


FLAKY = '''
import pytest
from assistant import careless
attempts = []

@pytest.mark.loomrec
def test_flaky():
    attempts.append(1)
    careless(f"attempt {len(attempts)}")
    assert len(attempts) == 2
'''
