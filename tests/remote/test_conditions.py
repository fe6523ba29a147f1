"""A store without conditional writes would lose calls of machines that write at the same time: it is refused."""

from __future__ import annotations

import pytest

from machine import contents, expected
from proxy import s3_error

WEAK = {
    "no conditions": {"if-none-match", "if-match"},
    "no If-None-Match": {"if-none-match"},
    "no If-Match": {"if-match"},
}


def assert_refused(outcome):
    assert outcome.code == 5, outcome.stderr
    assert "conditional writes" in outcome.stderr
    assert len(outcome.error_lines) == 1, outcome.stderr


@pytest.mark.parametrize("how", [*WEAK, "refused"])
def test_store_without_conditional_writes_is_refused(machine, make_machine, bucket, proxy, upstream, how):
    assert machine.record("agent.json").code == 0
    answered = len(upstream.prompts)
    if how == "refused":
        answer = s3_error(501, "NotImplemented", "A header you provided implies functionality that is not implemented")
        proxy.refuse(answer, lambda request: {"if-none-match", "if-match"} & set(request.headers))
    else:
        proxy.rules.strip = WEAK[how]
    outcome = machine.run("push", "agent.json", bucket.url())
    assert_refused(outcome)
    assert not machine.path("agent.remote.json").exists()
    assert "agent/ref" not in bucket.keys()
    outcome = machine.record(bucket.url("recorded"))
    assert_refused(outcome)
    assert len(upstream.prompts) == answered
    assert bucket.keys("recorded/") == []


@pytest.mark.parametrize("how", WEAK)
def test_compaction_moves_no_reference_on_such_a_store(machine, make_machine, bucket, proxy, how):
    assert machine.record(bucket.url()).code == 0
    assert machine.record(bucket.url(), "--run", "r", client=["--label", "more", "--calls", "2"]).code == 0
    ref, segments = bucket.get("agent/ref"), bucket.segments()
    proxy.rules.strip = WEAK[how]
    assert_refused(make_machine().run("merge", bucket.url()))
    assert (bucket.get("agent/ref"), bucket.segments()) == (ref, segments)
    proxy.forget()
    assert make_machine().run("merge", bucket.url()).code == 0
    assert contents(make_machine().pull(bucket.url())) == {**expected("call", range(3)), **expected("more", range(2))}
