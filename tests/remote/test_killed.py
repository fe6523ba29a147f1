"""Recorders and compactions are killed or interrupted: no acknowledged call is lost or doubled."""

from __future__ import annotations

import os
import signal
import subprocess

import pytest

from machine import CLIENT, KillAt, assert_holds, calls, contents, expected, read_acks
from proxy import puts


def kill_recorder(machine, url, *flags, label="killed", count=8):
    """Kills a recorder after some calls, and returns what its client had been told."""
    recorder = machine.start_recorder(url, *flags, client=calls(label, count + 1, pause=[count]))
    recorder.wait_for_pause()
    recorder.kill()
    assert len(recorder.acks) == count
    return recorder.acks


@pytest.mark.parametrize("flags", [(), ("--run", "r")], ids=["alone", "run"])
def test_killed_recorder_then_compact_on_the_same_machine(machine, make_machine, bucket, flags):
    acks = kill_recorder(machine, bucket.url(), *flags)
    outcome = machine.run("merge", bucket.url())
    assert outcome.code == 0, outcome.stderr
    assert contents(make_machine().pull(bucket.url())) == expected("killed", range(8))
    assert_holds(make_machine().pull(bucket.url()), acks)
    assert bucket.segments() == []
    again = machine.run("merge", bucket.url())
    assert again.code == 0, again.stderr
    assert contents(make_machine().pull(bucket.url())) == expected("killed", range(8))


def test_next_record_with_the_address_uploads_what_a_killed_recorder_left(machine, make_machine, bucket):
    kill_recorder(machine, bucket.url())
    outcome = machine.record(bucket.url(), client=calls("next"))
    assert outcome.code == 0, outcome.stderr
    both = {**expected("killed", range(8)), **expected("next", range(3))}
    assert contents(make_machine().pull(bucket.url())) == both


@pytest.mark.parametrize("applied", [False, True], ids=["not applied", "applied"])
def test_recorder_killed_during_an_upload(machine, make_machine, bucket, proxy, applied):
    """The store may have the segment, and the recorder did not get to know."""
    kill = KillAt(puts(r"/runs/.*/\d+\.\w+$"))
    (proxy.rules.after if applied else proxy.rules.before).append(kill)
    recorder = machine.start_recorder(bucket.url(), client=calls("killed", 2, pause=[1]))
    recorder.wait_for_pause()
    kill.wait_for_end_of(recorder)
    proxy.forget()
    assert len(recorder.acks) == 1
    assert len(bucket.segments()) == applied
    outcome = machine.run("merge", bucket.url())
    assert outcome.code == 0, outcome.stderr
    assert contents(make_machine().pull(bucket.url())) == expected("killed", range(1))


def test_compact_leaves_a_live_recorder_of_this_machine_alone(machine, make_machine, bucket):
    recorder = machine.start_recorder(bucket.url(), client=calls("live", 4, pause=[2]))
    recorder.wait_for_pause()
    outcome = machine.run("merge", bucket.url())
    assert outcome.code == 0, outcome.stderr
    recorder.go_on()
    outcome = recorder.wait()
    assert outcome.code == 0, outcome.stderr
    assert contents(make_machine().pull(bucket.url())) == expected("live", range(4))


PLACES = {
    "first object": puts("/objects/"),
    "manifest": puts("/manifests/"),
    "ref": puts("/ref$"),
    "first removal": lambda request: request.method in ("DELETE", "POST"),
}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("applied", [False, True], ids=["not applied", "applied"])
def test_compaction_killed_at_any_place(machine, make_machine, bucket, proxy, place, applied):
    for label in ("a", "b"):
        assert machine.record(bucket.url(), "--run", "r", client=calls(label)).code == 0
    both = {**expected("a", range(3)), **expected("b", range(3))}
    kill = KillAt(PLACES[place])
    (proxy.rules.after if applied else proxy.rules.before).append(kill)
    kill.wait_for_end_of(make_machine().start("merge", bucket.url()))
    proxy.forget()
    assert contents(make_machine().pull(bucket.url())) == both
    outcome = make_machine().run("merge", bucket.url())
    assert outcome.code == 0, outcome.stderr
    assert bucket.segments() == []
    assert contents(make_machine().pull(bucket.url())) == both


def test_compactions_at_the_same_time(machine, make_machine, bucket):
    everything = {}
    for number in range(4):
        label = f"recorder{number}"
        assert machine.record(bucket.url(), "--run", "r", client=calls(label)).code == 0
        everything |= expected(label, range(3))
    running = [make_machine().start("merge", bucket.url()) for _ in range(4)]
    for compaction in running:
        outcome = compaction.wait()
        assert outcome.code == 0, outcome.stderr
    assert bucket.segments() == []
    assert contents(make_machine().pull(bucket.url())) == everything


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_server_loses_nothing(machine, make_machine, bucket, upstream, number):
    """A recorder without a command serves until a signal."""
    server = machine.start("record", "-r", bucket.url(), "--listen", "127.0.0.1:0",
                           "--upstream", f"openai={upstream.url}")
    address = server.wait_for_line(r"listening on (http://\S+)")[1]
    acks = machine.path("acks")
    client = subprocess.run([*CLIENT, "--calls", "6", "--acks", str(acks)], timeout=60, check=False,
                            env={**os.environ, "OPENAI_BASE_URL": f"{address}/openai/v1"})
    assert client.returncode == 0
    server.process.send_signal(number)
    outcome = server.wait()
    assert outcome.code == 0, outcome.stderr
    assert len(read_acks(acks)) == 6
    assert contents(make_machine().pull(bucket.url())) == expected("call", range(6))
    assert bucket.segments() == []


@pytest.mark.parametrize("count", [1, 3, 6])
def test_killed_pull_leaves_no_file_and_a_cache_that_works(machine, make_machine, bucket, proxy, count):
    assert machine.record("agent.json", client=calls(count=6)).code == 0
    assert machine.run("push", "agent.json", bucket.url()).code == 0
    other = make_machine()
    kill = KillAt(lambda _: sum("/objects/" in request.key for request in proxy.requests) >= count)
    proxy.forget()
    proxy.rules.after.append(kill)
    kill.wait_for_end_of(other.start("pull", bucket.url(), "-o", "pulled.json"))
    proxy.forget()
    assert not other.path("pulled.json").exists()
    assert other.run("pull", bucket.url(), "-o", "pulled.json").code == 0
    assert other.path("pulled.json").read_bytes() == machine.path("agent.json").read_bytes()
    proxy.stop()
    replayed = other.replay(machine.path("agent.remote.json"), client=calls(count=6))
    assert replayed.code == 0, replayed.stderr


@pytest.mark.parametrize("place", ["first object", "manifest", "ref"])
def test_killed_push_is_repeated(machine, make_machine, bucket, proxy, place):
    assert machine.record("agent.json").code == 0
    kill = KillAt(PLACES[place])
    proxy.rules.after.append(kill)
    kill.wait_for_end_of(machine.start("push", "agent.json", bucket.url()))
    proxy.forget()
    assert not machine.path("agent.remote.json").exists()
    outcome = machine.run("push", "agent.json", bucket.url())
    # With the ref written, the newest state is this file's, although no pointer file says so.
    assert outcome.code == 0 or (place == "ref" and outcome.code == 5), outcome.stderr
    assert contents(make_machine().pull(bucket.url())) == expected("call", range(3))
