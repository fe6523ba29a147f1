"""Slow links: requests may take as long as they like while bytes move, and what arrived stays."""

from __future__ import annotations

import itertools
import os
import pty
import re
import subprocess
import threading
import time

import pytest

from machine import LOOMREC, KillAt, calls, contents, entries
from process import wait_until
from proxy import Throttle
from upstream import answer_text, noise

COUNT = 32
#: An entry has the answer twice, as it came and as text, which makes about 600 KB of gzip.
LENGTH = 400_000
SLOW = 150_000
#: What 32 objects of 600 KB take over such a link, and again as much.
PATIENCE = 300


def run_patiently(machine, *arguments):
    outcome = machine.start(*arguments).wait(PATIENCE)
    assert outcome.code == 0, outcome.stderr
    return outcome


@pytest.fixture
def large(make_machine, upstream):
    """A recording of 32 entries of 600 KB, on a machine."""
    upstream.noise = LENGTH
    machine = make_machine()
    assert machine.record("agent.json", client=calls(count=COUNT)).code == 0
    return machine


def assert_is_large(recording):
    answers = contents(recording)
    assert answers == {prompt: answer_text(prompt) + noise(prompt, LENGTH)
                       for prompt in (f"call {number}" for number in range(COUNT))}


def test_push_over_a_slow_link(large, make_machine, bucket, proxy):
    proxy.rules.throttle = Throttle(SLOW)
    outcome = run_patiently(large, "push", "agent.json", bucket.url())
    assert re.search(r"waiting for the store of s3://\S+: objects: \d+ of 32", outcome.stderr), outcome.stderr
    proxy.forget()
    assert all(len(bucket.get(key)) > 590_000 for key in bucket.keys("agent/objects/"))
    assert_is_large(make_machine().pull(bucket.url()))


def test_pull_over_a_slow_link(large, make_machine, bucket, proxy):
    assert large.run("push", "agent.json", bucket.url()).code == 0
    proxy.rules.throttle = Throttle(SLOW)
    machine = make_machine()
    outcome = run_patiently(machine, "pull", bucket.url(), "-o", "pulled.json")
    assert re.search(r"waiting for the store of s3://\S+: objects: \d+ of 32", outcome.stderr), outcome.stderr
    proxy.forget()
    assert_is_large(machine.pull(bucket.url()))


def test_record_over_a_slow_link(machine, make_machine, bucket, proxy, upstream):
    """The calls are recorded much faster than they can be uploaded: 5 MB at 150 KB/s take longer than
    --drain.
    """
    upstream.noise = LENGTH
    proxy.rules.throttle = Throttle(SLOW)
    outcome = machine.start_recorder(bucket.url(), "--run", "r", "--drain", "10",
                                     client=calls(count=8)).wait(PATIENCE)
    assert outcome.code == 0, outcome.stderr
    proxy.forget()
    assert len(entries(make_machine().pull(bucket.url()))) == 8


def stop_at(proxy, running, pattern, method, number):
    """Kills a command at its request of this number for an object whose key matches."""
    numbers = itertools.count(1)
    rule = KillAt(lambda request: request.method == method and pattern in request.key and next(numbers) == number)
    proxy.rules.before.append(rule)
    rule.wait_for_end_of(running())
    proxy.forget()


def test_push_that_was_stopped_goes_on_with_what_arrived(large, make_machine, bucket, proxy):
    stop_at(proxy, lambda: large.start("push", "agent.json", bucket.url()), "/objects/", "PUT", 9)
    wait_until(lambda: len(bucket.keys("agent/objects/")) >= 8, "the objects that the store has got")
    arrived = bucket.keys("agent/objects/")
    proxy.requests.clear()
    outcome = large.run("push", "agent.json", bucket.url())
    assert outcome.code == 0, outcome.stderr
    again = [request.key for request in proxy.requests if request.method == "PUT" and request.key in arrived]
    assert again == []
    uploaded = int(re.search(r"objects uploaded: (\d+)", outcome.stderr)[1])
    assert 0 < uploaded <= COUNT - len(arrived)
    assert_is_large(make_machine().pull(bucket.url()))


def test_pull_that_was_stopped_goes_on_with_what_arrived(large, make_machine, bucket, proxy):
    assert large.run("push", "agent.json", bucket.url()).code == 0
    machine = make_machine()
    proxy.rules.throttle = Throttle(4_000_000)
    stop_at(proxy, lambda: machine.start("pull", bucket.url(), "-o", "pulled.json"), "/objects/", "GET", COUNT)
    arrived = {path.name for path in (machine.cache / "objects").glob("*/*") if len(path.name) == 64}
    proxy.requests.clear()
    assert_is_large(machine.pull(bucket.url()))
    fetched = {request.key.rpartition("/")[2] for request in proxy.requests if "/objects/" in request.key}
    assert len(fetched) == COUNT - len(arrived) and not fetched & arrived


def test_download_that_is_cut_goes_on_where_it_was(large, make_machine, bucket, proxy):
    """Each answer ends after 200 KB."""
    assert large.run("push", "agent.json", bucket.url()).code == 0
    ranges = []

    def cut(request, answer):
        if "/objects/" in request.key:
            ranges.append(request.headers.get("range"))
            answer.cut_after = 200_000
        return answer

    proxy.rules.change.append(cut)
    assert_is_large(make_machine().pull(bucket.url()))
    assert ranges.count(None) == COUNT
    assert len(ranges) >= 3 * COUNT
    assert all(text is None or re.fullmatch(r"bytes=\d+-(\d+)?", text) for text in ranges)


def test_progress_is_drawn_on_a_terminal(large, bucket, proxy):
    """It is drawn once the command has been silent for five seconds."""
    proxy.rules.throttle = Throttle(2_500_000)
    ours, theirs = pty.openpty()
    shown = bytearray()

    def read():
        while True:
            try:
                if not (piece := os.read(ours, 4096)):
                    return
            except OSError:
                return
            shown.extend(piece)

    reader = threading.Thread(target=read, daemon=True)
    reader.start()
    started = time.monotonic()
    push = subprocess.Popen([LOOMREC, "push", "agent.json", bucket.url()], cwd=large.work, stderr=theirs,
                            env={**large.environment, "TERM": "xterm"})
    while b"waiting for the store" not in shown and push.poll() is None:
        time.sleep(0.05)
    assert time.monotonic() - started > 4.5
    assert push.wait(PATIENCE) == 0, shown
    os.close(theirs)
    # It ends once it has read all that was written.
    reader.join(PATIENCE)
    text = shown.decode(errors="replace")
    assert re.search(r"objects: \d+ of 32", text), text
    assert "objects uploaded: 32" in text


def test_quick_commands_show_no_progress(machine, bucket):
    assert machine.record("agent.json").code == 0
    assert "waiting" not in machine.run("push", "agent.json", bucket.url()).stderr
