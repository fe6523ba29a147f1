"""Keeping recordings up to date: changed prompts, renamed and moved tests, recordings without a test."""

import os
import shlex
import subprocess

import pytest
from loop import KEYS

CAPITAL = "tests/recordings/test_shapes/test_capital.json"


def shell(project, command: str) -> str:
    """Runs a command that the plug-in printed, in the project."""
    folder = os.path.dirname(os.environ["LOOMREC_BIN"])
    env = {**os.environ, **KEYS, "PATH": folder + os.pathsep + os.environ["PATH"]}
    done = subprocess.run(["sh", "-c", command], cwd=project.folder, env=env, text=True,
                          capture_output=True, stdin=subprocess.DEVNULL, timeout=60, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def printed(outcome) -> list[str]:
    """The commands that the end of a run printed."""
    lines = outcome.stdout.splitlines()
    start = max(at for at, line in enumerate(lines) if line.startswith("loomrec: "))
    return [line.strip() for line in lines[start:] if line.startswith("  ")]


@pytest.mark.parametrize("processes", [[], ["-n", "2"]], ids=["one process", "workers"])
def test_three_changed_prompts_are_reviewed_with_three_commands(project, processes):
    project.edit("tests/test_shapes.py", "of France", "of Norway")
    project.edit("tests/test_shapes.py", '"in a class"', '"in this class"')
    project.edit("tests/test_shapes.py", 'f"Read {tmp_path}/notes.txt"', 'f"Open {tmp_path}/notes.txt"')
    before = project.recordings()
    missed = project.run("--loomrec=review", *processes, "tests/test_shapes.py")
    assert missed.code == 1 and missed.counts["failed"] == 3, missed.stdout
    assert project.upstream.connections == 0 and project.recordings() == before
    fetch, review = printed(missed)
    assert "loomrec: 3 calls wait for new answers. If the changes are meant:" in missed.stdout
    assert fetch.startswith("loomrec rerecord tests/recordings/test_shapes/ --pending --upstream openai=http://")
    assert review == "loomrec review tests/recordings/test_shapes/"
    shell(project, f"{fetch} --yes")
    assert len(project.upstream.requests) == 3
    shown = shell(project, review)
    assert "of Norway" in shown and "this class" in shown and "Open " in shown
    assert project.recordings() == before
    shell(project, "loomrec review tests/recordings/test_shapes --accept")
    strict = project.run("tests/test_shapes.py", CI="true")
    assert strict.code == 0, strict.stdout
    assert len([path for path, text in project.recordings().items() if before[path] != text]) == 3
    assert project.leftovers() == []


def test_review_of_a_green_run_keeps_nothing(project):
    green = project.run("--loomrec=review", "tests/test_shapes.py")
    assert green.code == 0 and project.leftovers() == [], green.stdout
    project.path(CAPITAL).unlink()
    failed = project.run("--loomrec=review", "tests/test_shapes.py", "-k", "capital")
    assert "there is no recording " + CAPITAL in failed.stdout


@pytest.mark.parametrize("chosen", [[], ["tests/test_shapes.py"], ["-n", "2"]], ids=["all", "file", "workers"])
def test_renamed_test_gets_its_recording_back_with_one_command(project, chosen):
    project.leave_out_sdks()
    project.edit("tests/test_shapes.py", "def test_capital", "def test_main_city")
    project.edit("tests/test_shapes.py", "def test_same_call_twice", "def test_call_twice")
    before = project.recordings()
    renamed = project.run(*chosen)
    assert renamed.counts["failed"] == 2, renamed.stdout
    assert "loomrec: the calls of 2 renamed tests are in recordings without a test. To move them:" in renamed.stdout
    assert "recordings without a test: " not in renamed.stdout
    assert project.recordings() == before, "nothing is moved without a command"
    shell(project, printed(renamed)[0])
    assert project.run(*chosen).code == 0
    after = project.recordings()
    assert sorted(after.values()) == sorted(before.values())
    assert set(after) - set(before) == {CAPITAL.replace("test_capital", "test_main_city"),
                                        CAPITAL.replace("test_capital", "test_call_twice")}


SEVERAL = '''
import pytest
from assistant import ask
pytestmark = pytest.mark.loomrec

@pytest.mark.parametrize("city", ["Paris", "the Hague"])
def test_city(city):
    assert city in ask(f"Where is {city}?")

def test_sea():
    assert "sea" in ask("Where is the sea?")
'''


def test_moved_file_gets_its_recordings_back_with_one_command(bare_project):
    bare_project.write("tests/geography/test_places.py", SEVERAL)
    assert bare_project.record().counts == {"passed": 3}
    bare_project.path("tests/un'der").mkdir()
    bare_project.path("tests/geography/test_places.py").rename(bare_project.path("tests/un'der/test_where.py"))
    moved = bare_project.run("tests/un'der")
    assert moved.counts == {"failed": 3}, moved.stdout
    command = printed(moved)[0]
    assert command.startswith("mkdir -p " + shlex.quote("tests/un'der/recordings/test_where") + " && mv ")
    shell(bare_project, command)
    again = bare_project.run()
    assert again.code == 0 and "without a test" not in again.stdout, again.stdout


def test_without_a_proof_nothing_is_said_to_be_renamed(project):
    project.leave_out_sdks()
    project.edit("tests/test_shapes.py", "def test_capital", "def test_main_city")
    project.edit("tests/test_shapes.py", "of France", "of Norway")
    other = project.run()
    assert "renamed" not in other.stdout and f"recordings without a test: {CAPITAL}" in other.stdout
    project.edit("tests/test_shapes.py", "of Norway", "of France")
    copy = CAPITAL.replace("test_capital", "test_gone")
    project.write(copy, project.path(CAPITAL).read_text(encoding="utf-8"))
    two = project.run()
    assert "renamed" not in two.stdout, "either of two recordings may be its own"
    assert f"recordings without a test: {CAPITAL}, {copy}" in two.stdout


HOOKED = '''
from assistant import ask

def test_hooked():
    assert ask("marked by a hook")

def test_with_fixture():
    assert ask("fixture by a hook")
'''
HOOKS = '''
import pytest

def pytest_collection_modifyitems(items):
    for item in items:
        if item.name == "test_hooked":
            item.add_marker(pytest.mark.loomrec)
        if item.name == "test_with_fixture":
            item.fixturenames.insert(0, "loomrec")
'''


@pytest.mark.parametrize("processes", [[], ["-n", "2"]], ids=["one process", "workers"])
def test_recording_of_a_test_that_a_hook_marks_has_its_test(bare_project, processes):
    bare_project.write("tests/test_hooked.py", HOOKED)
    bare_project.write("tests/conftest.py", HOOKS + "# loomrec\n")
    assert bare_project.record(*processes).counts == {"passed": 2}
    assert len(bare_project.recordings()) == 2
    replayed = bare_project.run(*processes)
    assert replayed.code == 0 and "2 tests replayed" in replayed.said[0], replayed.stdout
    assert "without a test" not in replayed.stdout


@pytest.mark.parametrize("processes", [[], ["-n", "2"]], ids=["one process", "workers"])
def test_test_that_was_not_collected_is_not_gone(project, processes):
    project.leave_out_sdks()
    project.edit("tests/test_shapes.py", "def test_careless", "@pytest.mark.loomrec(off=True)\ndef test_careless")
    project.edit("tests/test_shapes.py", 'assert careless("anything at all")', "pass")
    assert "without a test" not in project.run(*processes).stdout, "it is off"
    chosen = 'collect_ignore = ["test_shapes.py"]\n'
    project.write("tests/conftest.py", chosen + project.path("tests/conftest.py").read_text(encoding="utf-8"))
    assert "without a test" not in project.run(*processes).stdout, "its file is left out"
    project.edit("tests/conftest.py", chosen, "")
    drop = "\ndef pytest_collection_modifyitems(items):\n    items[:] = [i for i in items if 'class' not in i.name]\n"
    project.write("tests/conftest.py", project.path("tests/conftest.py").read_text(encoding="utf-8") + drop)
    assert "without a test" not in project.run(*processes).stdout, "a hook leaves it out"
    project.edit("tests/test_shapes.py", "import unittest\n", "import unittest\nimport pytest\npytest.importorskip('no_such_module')\n")
    assert "without a test" not in project.run(*processes).stdout, "its file skips itself"


FLAKY = '''
import pytest
from assistant import ask
attempts = []

@pytest.mark.loomrec
def test_flaky():
    attempts.append(1)
    assert ask("try")
    assert len(attempts) == 2
'''


def test_rerun_test_that_was_kept_is_recorded(bare_project):
    bare_project.write("tests/test_flaky.py", FLAKY)
    recorded = bare_project.record("--reruns", "2")
    assert recorded.counts == {"passed": 1, "rerun": 1}, recorded.stdout
    assert recorded.said[0].startswith("1 test recorded ("), recorded.stdout
    assert "not recorded" not in recorded.stdout
    replayed = bare_project.run("--reruns", "2")
    assert replayed.said[0].startswith("1 test replayed, "), replayed.stdout


THREADS = '''
import threading
import time
import pytest
from assistant import careless
go = threading.Event()

@pytest.fixture(scope="module")
def service():
    asked, answered = threading.Event(), threading.Event()
    def serve():
        while asked.wait(30):
            asked.clear()
            careless("the service of several tests")
            answered.set()
    threading.Thread(target=serve, daemon=True).start()
    def ask_service():
        answered.clear()
        asked.set()
        assert answered.wait(30)
    return ask_service

done = threading.Event()

def late():
    go.wait(30)
    try:
        careless("too late")
    except Exception:
        pass
    done.set()

@pytest.mark.loomrec
def test_a(service):
    careless("in time")
    service()
    threading.Thread(target=late, name="poller").start()

@pytest.mark.loomrec
def test_b(service):
    careless("the first of b")
    go.set()
    assert done.wait(30)
    service()
    careless("the last of b")
'''


@pytest.mark.parametrize("processes", [[], ["-n", "1"]], ids=["one process", "workers"])
def test_call_of_a_late_thread_is_in_no_recording(bare_project, processes):
    bare_project.write("tests/test_threads.py", THREADS)
    recorded = bare_project.record(*processes)
    assert recorded.code == 1 and recorded.counts == {"passed": 2}, recorded.stdout
    assert ("loomrec: calls after the end of their test were refused:"
            " tests/test_threads.py::test_a (poller); ") in recorded.stdout
    texts = list(bare_project.recordings().values())
    assert any(b"the last of b" in text for text in texts)
    assert not any(b"too late" in text for text in texts)
    assert [b"the service of several tests" in text for text in texts] == [True, True]
    bare_project.edit("tests/test_threads.py", "    threading.Thread(target=late, name", "    0 and threading.Thread(target=late, name")
    bare_project.edit("tests/test_threads.py", "    assert done.wait(30)\n", "")
    replayed = bare_project.run(*processes)
    assert replayed.code == 0 and "2 tests replayed" in replayed.said[0], replayed.stdout


TASKS = '''
import asyncio
import pytest
import pytest_asyncio
from openai import AsyncOpenAI
pytestmark = [pytest.mark.loomrec, pytest.mark.asyncio(loop_scope="module")]

async def ask(prompt):
    async with AsyncOpenAI(max_retries=0) as client:
        messages = [{"role": "user", "content": prompt}]
        await client.chat.completions.create(model="gpt-4o-mini", messages=messages)

@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def service():
    asked = asyncio.Queue()
    async def serve():
        while True:
            answered = await asked.get()
            await ask("the service of several tests")
            answered.set()
    task = asyncio.create_task(serve())
    async def ask_service():
        answered = asyncio.Event()
        await asked.put(answered)
        await asyncio.wait_for(answered.wait(), 30)
    yield ask_service
    task.cancel()

left = []

async def late(go):
    await go.wait()
    await ask("too late")

async def test_a(service):
    await ask("in time")
    await service()
    go = asyncio.Event()
    left.extend([go, asyncio.create_task(late(go), name="poller")])

async def test_b(service):
    await ask("the first of b")
    if left:
        left[0].set()
        await asyncio.wait(left[1:])
        assert left[1].exception() is not None
    await service()
    await ask("the last of b")
'''


def test_call_of_a_late_task_is_in_no_recording(bare_project):
    bare_project.write("tests/test_tasks.py", TASKS)
    recorded = bare_project.record()
    assert recorded.code == 1 and recorded.counts == {"passed": 2}, recorded.stdout
    assert ("loomrec: calls after the end of their test were refused:"
            " tests/test_tasks.py::test_a (poller); ") in recorded.stdout
    texts = list(bare_project.recordings().values())
    assert any(b"the last of b" in text for text in texts)
    assert not any(b"too late" in text for text in texts)
    assert [b"the service of several tests" in text for text in texts] == [True, True]
    bare_project.edit("tests/test_tasks.py", "    left.extend(", "    [].extend(")
    replayed = bare_project.run()
    assert replayed.code == 0 and "2 tests replayed" in replayed.said[0], replayed.stdout


EXPECTED = '''
import pytest
from assistant import ask, careless
pytestmark = pytest.mark.loomrec

@pytest.mark.xfail
def test_expected():
    assert "village" in ask("a town")

@pytest.mark.xfail(strict=True)
def test_expected_strictly():
    assert "village" in careless("a city")

@pytest.mark.xfail
def test_passes_after_all():
    assert "town" in ask("the town")

def test_gives_up():
    careless("a hamlet")
    pytest.xfail("not yet")
'''


def test_failure_that_is_expected_is_recorded_and_hides_no_change(bare_project):
    bare_project.write("tests/test_expected.py", EXPECTED)
    recorded = bare_project.record()
    assert recorded.code == 0 and recorded.counts == {"xfailed": 3, "xpassed": 1}, recorded.stdout
    assert recorded.said[0].startswith("4 tests recorded ("), recorded.stdout
    replayed = bare_project.run()
    assert replayed.code == 0 and replayed.said[0].startswith("4 tests replayed"), replayed.stdout
    for word in ("a town", "a city", "a hamlet"):
        bare_project.edit("tests/test_expected.py", word, word.replace("a ", "another "))
    changed = bare_project.run("-rA")
    assert changed.code == 1 and changed.counts == {"failed": 3, "xpassed": 1}, changed.stdout
    assert changed.stdout.count("1 call has no recorded answer") >= 3
