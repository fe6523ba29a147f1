"""Machines whose clocks are wrong: the store's clock orders what they record."""

from __future__ import annotations

import functools
import itertools
import os
import re
import subprocess
from datetime import UTC, datetime
from pathlib import Path

import pytest

from machine import calls, contents, entries, expected
from object_store import Bucket
from proxy import Proxy, s3_error, shift_clock
from upstream import answer_text

_numbers = itertools.count(1)
SHIFT_CLOCK = Path(__file__).parents[1] / "agents/shift_clock.c"


@pytest.fixture(scope="session")
def library(tmp_path_factory):
    """A library that moves the clock of a program."""
    path = tmp_path_factory.mktemp("clock") / "shift_clock.so"
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", path, SHIFT_CLOCK, "-ldl"], check=True)
    return path


@pytest.fixture(params=["moto", "seaweedfs"])
def store(request):
    return request.getfixturevalue(request.param)


@functools.cache  # each bucket takes volumes of SeaweedFS
def shared_bucket(port):
    return Bucket(port, f"skew-{os.getpid()}")


@pytest.fixture
def url(store):
    """The URL of a recording of the test's own."""
    return shared_bucket(store.port).url(f"agent-{next(_numbers)}")


@pytest.fixture
def proxy(store):
    proxy = Proxy(store.port)
    yield proxy
    proxy.close()


@pytest.fixture
def make_shifted(make_machine, library):
    """Makes machines whose clocks are wrong by so many seconds."""
    def make(seconds):
        machine = make_machine()
        machine.environment |= {"LD_PRELOAD": str(library), "CLOCK_SHIFT": str(seconds)}
        return machine
    return make


def record(machine, url, *flags, **options):
    outcome = machine.record(url, *flags, **options)
    assert outcome.code == 0, outcome.stderr
    return outcome


def distances(recording):
    """Returns by how many seconds the times of the takes differ from now."""
    now = datetime.now(UTC)
    return [(datetime.fromisoformat(entry["recorded_at"]) - now).total_seconds() for entry in entries(recording)]


@pytest.mark.parametrize("seconds", [-600, 600])
@pytest.mark.parametrize("flags", [(), ("--run",)], ids=["alone", "run"])
def test_newer_takes_win_whatever_the_clocks_are(make_machine, make_shifted, url, upstream, seconds, flags):
    """A right machine, a wrong one, and a right one again record the same calls. Each replaces the takes before."""
    for edition, machine in ((1, make_machine()), (2, make_shifted(seconds)), (3, make_machine())):
        upstream.edition = edition
        outcome = record(machine, url, *flags, *([f"r{edition}"] if flags else []))
        assert ("clock" in outcome.stderr) == (edition == 2), outcome.stderr
        for _ in range(2):
            recording = make_machine().pull(url)
            assert contents(recording) == expected("call", range(3), edition)
            assert all(-60 < distance < 3 for distance in distances(recording)), distances(recording)
            outcome = make_machine().run("merge", url)
            assert outcome.code == 0, outcome.stderr


@pytest.mark.parametrize("seconds", [-600, 600])
def test_recorders_that_overlap_are_one_run_whatever_the_clocks_are(make_machine, make_shifted, url, upstream,
                                                                    seconds):
    one = make_machine().start_recorder(url, client=calls("call", 2, pause=[1]))
    one.wait_for_pause()
    upstream.edition = 2
    record(make_shifted(seconds), url, client=calls("call", 1))
    one.go_on()
    assert one.wait().code == 0
    found = entries(make_machine().pull(url))
    assert [entry["content"] for entry in found[:2]] == [answer_text("call 0", 1), answer_text("call 0", 2)]


def test_message_says_that_the_time_of_the_store_is_used(make_shifted, url):
    outcome = record(make_shifted(-600), url)
    said = re.search(r"the clock of this machine is (\d+) s behind that of the store: calls are recorded with the "
                     r"time of the store", outcome.stderr)
    assert said and abs(int(said[1]) - 600) <= 1, outcome.stderr
    outcome = record(make_shifted(601), url)
    assert re.search(r"60[012] s ahead of that of the store", outcome.stderr), outcome.stderr


def test_answers_without_a_date_say_nothing_of_the_clock(make_machine, make_shifted, url, proxy):
    def without_date(_, answer):
        answer.headers = [(name, value) for name, value in answer.headers if name.lower() != "date"]
        return answer

    proxy.rules.change.append(without_date)
    assert "clock" not in record(make_shifted(-600), url).stderr
    assert all(distance < -500 for distance in distances(make_machine().pull(url)))


@pytest.mark.parametrize("command", ["pull", "record", "merge"])
def test_clock_that_the_store_refuses_is_named(machine, make_machine, url, proxy, command):
    """S3 refuses requests that are signed fifteen minutes too early or too late."""
    record(machine, url)
    refusal = s3_error(403, "RequestTimeTooSkewed", "The difference between the request time and the current time is "
                                                    "too large.")
    now = datetime.now(UTC).strftime("%a, %d %b %Y %H:%M:%S GMT")
    refusal.headers.append(("date", now))
    proxy.refuse(shift_clock(1200)(None, refusal))
    other = make_machine()
    outcome = other.record(url) if command == "record" else other.run(command, url)
    assert outcome.code == (5 if command == "merge" else 4), outcome.stderr
    said = re.search(r"the clock of this machine, which shows (\S+) while that of the store shows (\S+); set the clock",
                     outcome.stderr)
    assert said, outcome.stderr
    machine_time, store_time = map(datetime.fromisoformat, said.groups())
    assert abs((store_time - machine_time).total_seconds() - 1200) <= 2
    assert len(outcome.error_lines) == 1, outcome.stderr
