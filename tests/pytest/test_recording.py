"""What is recorded and kept, what is not, and what a whole run says about recordings."""

import json

import pytest

CAPITAL = "tests/recordings/test_shapes/test_capital.json"


def test_failing_test_keeps_its_old_recording_and_makes_no_new_one(project):
    before = project.recordings()
    project.edit("tests/test_shapes.py", "of France", "of Norway")
    project.edit("tests/test_shapes.py", 'assert "capital" in', 'assert "village" in')
    project.write("tests/test_new.py", "import pytest\nfrom assistant import ask\n\n"
                  "@pytest.mark.loomrec\ndef test_new():\n    assert ask('new') == 'no'\n")
    failed = project.record("tests/test_shapes.py", "tests/test_new.py", "-k", "test_capital or test_new")
    assert failed.counts["failed"] == 2, failed.stdout
    assert len(project.upstream.requests) == 2, "both called"
    assert project.recordings() == before
    assert project.leftovers() == []
    assert ("not recorded, because the test did not pass: tests/test_new.py::test_new,"
            " tests/test_shapes.py::test_capital") in failed.said


def test_recording_again_replaces_one_recording(project):
    before = project.recordings()
    project.edit("tests/test_shapes.py", "of France", "of Norway")
    again = project.record("tests/test_shapes.py::test_capital")
    assert again.code == 0 and again.said[0].startswith("1 test recorded ($"), again.stdout
    after = project.recordings()
    assert {path for path in after if after[path] != before[path]} == {CAPITAL}
    assert b"France" not in after[CAPITAL] and b"Norway" in after[CAPITAL]
    assert project.run("tests/test_shapes.py").code == 0


def test_new_calls_only_for_what_is_not_recorded(project):
    project.edit("tests/test_shapes.py", "def test_capital():",
                 "def test_capital():\n    assert 'again' in ask('and again')")
    added = project.run("--loomrec=new", "tests/test_shapes.py", keys=True)
    assert added.code == 0, added.stdout
    assert [b"and again" in request.body for request in project.upstream.requests] == [True]
    takes = [key for key in json.loads(project.recordings()[CAPITAL]) if not key.startswith("_")]
    assert len(takes) == 2
    assert project.run("tests/test_shapes.py").code == 0


@pytest.mark.parametrize("mode", ["record", "new"])
def test_ci_only_replays(project, mode):
    refused = project.run(f"--loomrec={mode}", keys=True, CI="true")
    assert refused.code == 4
    assert f"--loomrec={mode} calls the provider, and CI is set" in refused.stderr
    project.edit("pyproject.toml", "[tool.loomrec.pytest]", f'[tool.loomrec.pytest]\nmode = "{mode}"')
    replayed = project.run("tests/test_shapes.py", CI="true")
    assert replayed.code == 0 and "replayed" in replayed.said[0], replayed.stdout
    assert project.upstream.connections == 0


def test_off_calls_the_real_api(project):
    before = project.recordings()
    real = {"OPENAI_BASE_URL": f"{project.upstream.url}/v1", "LOOMREC_BIN": "/nowhere"}
    off = project.run("--loomrec=off", "tests/test_shapes.py", "-k", "capital", keys=True, **real)
    assert off.counts["passed"] == 1 and off.said == [], off.stdout
    assert len(project.upstream.requests) == 1
    assert project.recordings() == before


@pytest.mark.parametrize("processes", [[], ["-n", "2"]], ids=["one process", "workers"])
def test_recording_without_a_test_is_named_after_a_whole_run(project, processes):
    project.edit("tests/test_shapes.py", "def test_capital", "def not_a_test")
    project.leave_out_sdks()
    whole = project.run(*processes)
    assert whole.code == 0, whole.stdout
    silent, orphans = whole.said[1:]
    assert silent.startswith("marked tests without a call: ") and silent.endswith("::test_calls_nothing")
    assert orphans == f"recordings without a test: {CAPITAL}"
    assert project.recordings()[CAPITAL], "it is named, not removed"
    for choice in (["-k", "class"], ["tests/test_shapes.py"], ["tests/auto"], ["--fixtures"], ["--lf", "tests"]):
        assert "without a test" not in project.run(*processes, *choice).stdout, choice


def test_unused_takes_are_named_and_may_fail_the_test(project):
    project.edit("tests/test_shapes.py", 'ask("count the calls") != ask("count the calls")',
                 'ask("count the calls")')
    chosen = ["tests/test_shapes.py", "-k", "twice"]
    named = project.run(*chosen)
    assert named.code == 0
    assert named.said[1:] == ["unused takes: tests/recordings/test_shapes/test_same_call_twice.json (1)"]
    project.edit("pyproject.toml", "[tool.loomrec.pytest]", "[tool.loomrec.pytest]\nfail_unused = true")
    failed = project.run(*chosen)
    assert failed.counts["failed"] == 1, failed.stdout
    assert "left a recorded take of tests/recordings/test_shapes/test_same_call_twice.json unused" in failed.stdout
    project.edit("tests/test_shapes.py", "def test_same_call", "@pytest.mark.loomrec(allow_unused=True)\ndef test_same_call")
    allowed = project.run(*chosen)
    assert allowed.code == 0 and len(allowed.said) == 1, allowed.stdout


SHARED = '''
import pytest
from assistant import ask

@pytest.mark.loomrec(recording="shared")
@pytest.mark.parametrize("number", [1, 2])
def test_shared(number):
    assert ask("the same for both")
'''


def test_two_tests_replay_one_recording_but_do_not_record_it(project):
    project.write("tests/test_shared.py", SHARED)
    refused = project.record("tests/test_shared.py")
    assert refused.counts == {"error": 2}, refused.stdout
    assert "would both record into tests/recordings/shared.json" in refused.stdout
    assert project.record("tests/test_shared.py::test_shared[1]").code == 0
    assert project.run("tests/test_shared.py").counts == {"passed": 2}


CASED = """
import pytest
from assistant import ask

@pytest.mark.loomrec
@pytest.mark.parametrize("method", ["get", "GET"])
def test_cased(method):
    assert ask(method)
"""


def test_names_that_differ_in_case_only_are_refused_with_a_remedy_that_works(project):
    project.write("tests/test_cased.py", CASED)
    refused = project.record("tests/test_cased.py")
    assert refused.counts == {"error": 2}, refused.stdout
    assert "give one of the tests another name or id" in refused.stdout and "mode=" not in refused.stdout
    project.edit("tests/test_cased.py", '["get", "GET"]', '["get", pytest.param("GET", id="upper")]')
    assert project.record("tests/test_cased.py").code == 0
    assert project.run("tests/test_cased.py").counts == {"passed": 2}


INTERRUPTED = '''
import os, signal
import pytest
from assistant import ask

@pytest.mark.loomrec
def test_interrupted():
    ask("before Ctrl-C")
    # A shell lets its background jobs ignore Ctrl-C, and their children inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.kill(os.getpid(), signal.SIGINT)
'''


def test_interrupted_recording_leaves_nothing(project):
    before = project.recordings()
    project.write("tests/test_interrupted.py", INTERRUPTED)
    interrupted = project.record("tests/test_interrupted.py")
    assert interrupted.code == 2 and "KeyboardInterrupt" in interrupted.stdout
    assert len(project.upstream.requests) == 1
    assert project.recordings() == before
    assert project.leftovers() == []


def test_mode_of_a_mark_keeps_its_test_from_recording(project):
    before = project.recordings()
    project.edit("tests/test_shapes.py", "def test_capital", '@pytest.mark.loomrec(mode="replay")\ndef test_capital')
    done = project.record("tests/test_shapes.py", "-k", "capital")
    assert done.counts["passed"] == 1 and done.said[0].startswith("1 test replayed"), done.stdout
    assert project.upstream.requests == [] and project.recordings() == before


def test_rules_of_a_mark(project):
    project.edit("tests/test_shapes.py", "anything at all", "anything else")
    project.edit("tests/test_shapes.py", "def test_careless",
                 '@pytest.mark.loomrec(ignore="/messages/0/content")\ndef test_careless')
    ignored = project.run("tests/test_shapes.py", "-k", "careless")
    assert ignored.counts["passed"] == 1, ignored.stdout


NORMALIZED = '''
import uuid
import pytest
from assistant import ask

@pytest.mark.loomrec(normalize=["user: Look at {{uuid}} please"])
def test_normalized():
    ask(f"Look at {uuid.uuid4()} please")
'''


def test_ids_that_the_mark_names_may_differ(project):
    project.write("tests/test_normalized.py", NORMALIZED)
    assert project.record("tests/test_normalized.py").code == 0
    replayed = project.run("tests/test_normalized.py")
    assert replayed.code == 0, replayed.stdout
