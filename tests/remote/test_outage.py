"""The store is lost while recorders record: calls go on, and are uploaded later."""

from __future__ import annotations

import json

import pytest

from machine import calls, contents, expected
from proxy import is_write, s3_error


def record_through_an_outage(machine, bucket, proxy, *flags, label="outage"):
    """Records six calls, turns the store off after two of them, and returns how the recorder ended."""
    receipt = machine.path(f"{label}.receipt.json")
    recorder = machine.start_recorder(bucket.url(), "--drain", "1", "--receipt", str(receipt), *flags,
                                      client=calls(label, 6, pause=[2]))
    recorder.wait_for_pause()
    proxy.stop()
    recorder.go_on()
    outcome = recorder.wait()
    assert outcome.code == 5, outcome.stderr
    assert len(recorder.acks) == 6
    assert f"loomrec merge {bucket.url()}" in outcome.stderr
    member = json.loads(receipt.read_bytes())["remote"][0]
    assert member["left"] >= 1
    return outcome


@pytest.mark.parametrize("flags", [(), ("--run", "r")], ids=["alone", "run"])
def test_compact_uploads_what_an_outage_kept_back(machine, make_machine, bucket, proxy, flags):
    record_through_an_outage(machine, bucket, proxy, *flags)
    refused = machine.run("merge", bucket.url())
    assert refused.code in (4, 5), refused.stderr
    assert len(refused.error_lines) == 1, refused.stderr
    proxy.start()
    outcome = machine.run("merge", bucket.url())
    assert outcome.code == 0, outcome.stderr
    assert contents(make_machine().pull(bucket.url())) == expected("outage", range(6))
    assert bucket.segments() == []


def test_next_record_uploads_what_an_outage_kept_back(machine, make_machine, bucket, proxy):
    record_through_an_outage(machine, bucket, proxy)
    proxy.start()
    outcome = machine.record(bucket.url(), client=calls("later"))
    assert outcome.code == 0, outcome.stderr
    both = {**expected("outage", range(6)), **expected("later", range(3))}
    assert contents(make_machine().pull(bucket.url())) == both


def test_outage_that_ends_in_time_is_no_failure(machine, make_machine, bucket, proxy):
    recorder = machine.start_recorder(bucket.url(), "--drain", "30", client=calls(count=6, pause=[2, 4]))
    recorder.wait_for_pause()
    proxy.stop()
    recorder.go_on()
    recorder.wait_for_pause()
    proxy.start()
    recorder.go_on()
    outcome = recorder.wait()
    assert outcome.code == 0, outcome.stderr
    assert contents(make_machine().pull(bucket.url())) == expected("call", range(6))


def test_permission_that_is_lost_while_recording(machine, make_machine, bucket, proxy):
    recorder = machine.start_recorder(bucket.url(), "--drain", "1", client=calls(count=6, pause=[2]))
    recorder.wait_for_pause()
    proxy.refuse(s3_error(403, "ExpiredToken", "The provided token has expired."), is_write)
    recorder.go_on()
    outcome = recorder.wait()
    assert outcome.code == 5, outcome.stderr
    assert "expired" in outcome.stderr
    assert len(recorder.acks) == 6
    proxy.forget()
    assert machine.run("merge", bucket.url()).code == 0
    assert contents(make_machine().pull(bucket.url())) == expected("call", range(6))


def test_code_of_the_command_goes_first(machine, bucket, proxy):
    """The receipt still says what is left."""
    receipt = machine.path("receipt.json")
    recorder = machine.start_recorder(bucket.url(), "--drain", "0", "--receipt", str(receipt),
                                      client=calls(pause=[2]))
    recorder.wait_for_pause()
    proxy.stop()
    outcome = recorder.wait()  # closes stdin: the client ends with 1
    assert outcome.code == 1, outcome.stderr
    assert json.loads(receipt.read_bytes())["remote"][0]["left"] >= 1


def test_two_machines_keep_their_own(make_machine, bucket, proxy):
    first, second = make_machine(), make_machine()
    record_through_an_outage(first, bucket, proxy, label="first")
    proxy.start()
    record_through_an_outage(second, bucket, proxy, label="second")
    proxy.start()
    assert first.run("merge", bucket.url()).code == 0
    assert first.run("merge", bucket.url()).code == 0
    assert second.run("merge", bucket.url()).code == 0
    assert contents(first.pull(bucket.url())) == {**expected("first", range(6)), **expected("second", range(6))}
