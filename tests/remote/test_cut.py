"""Connections are cut after the store has carried out a request: nothing is lost, nothing doubled."""

from __future__ import annotations

import pytest

from machine import calls, contents, entries, expected
from proxy import any_request, is_write


@pytest.mark.parametrize("every", [2, 3])
def test_recorders_whose_uploads_lose_their_answers(make_machine, bucket, proxy, every):
    proxy.cut_every(every, is_write)
    machines = [make_machine() for _ in range(3)]
    running = []
    for number, machine in enumerate(machines):
        # One after the other: a recorder that begins gives up if it loses five answers in a row.
        recorder = machine.start_recorder(bucket.url(), client=calls(f"r{number}", 6, pause=[3]))
        recorder.wait_for_pause()
        running.append(recorder)
    for recorder in running:
        recorder.go_on()
    for recorder in running:
        outcome = recorder.wait()
        assert outcome.code == 0, outcome.stderr
    proxy.forget()
    together = {}
    for number in range(3):
        together |= expected(f"r{number}", range(6))
    assert contents(make_machine().pull(bucket.url())) == together
    assert make_machine().run("merge", bucket.url()).code == 0
    assert contents(make_machine().pull(bucket.url())) == together
    assert bucket.segments() == []


def test_push_whose_answers_are_lost(machine, make_machine, bucket, proxy):
    """The write of the newest state is applied and its answer is lost: that is no conflict."""
    for number in range(3):
        assert machine.record("agent.json", client=calls(f"push{number}")).code == 0
        proxy.cut_every(2, is_write)
        outcome = machine.run("push", "agent.json", f"{bucket.url()}@t{number}")
        assert outcome.code == 0, outcome.stderr
        proxy.forget()
        assert len(entries(make_machine().pull(f"{bucket.url()}@t{number}"))) == 3 * (number + 1)


def test_only_the_answer_to_the_newest_state_is_lost(machine, make_machine, bucket, proxy):
    proxy.cut_every(2, lambda request: request.method == "PUT" and request.key.endswith("/ref"))
    for number in range(4):
        assert machine.record("agent.json", client=calls(f"push{number}")).code == 0
        outcome = machine.run("push", "agent.json", bucket.url())
        assert outcome.code == 0, outcome.stderr
    for number in range(4):
        outcome = machine.record(bucket.url(), client=calls(f"record{number}"))
        assert outcome.code == 0, outcome.stderr
    proxy.forget()
    together = {}
    for kind in ("push", "record"):
        for number in range(4):
            together |= expected(f"{kind}{number}", range(3))
    assert contents(make_machine().pull(bucket.url())) == together


def test_reads_that_are_cut_are_repeated(machine, make_machine, bucket, proxy):
    assert machine.record("agent.json", client=calls(count=8)).code == 0
    assert machine.run("push", "agent.json", bucket.url()).code == 0
    proxy.cut_every(3, any_request)
    outcome = make_machine().replay(bucket.url(), client=calls(count=8))
    assert outcome.code == 0, outcome.stderr
    assert {ack["prompt"]: ack["answer"] for ack in outcome.acks} == expected("call", range(8))
