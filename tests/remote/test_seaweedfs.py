"""The whole way with SeaweedFS: a real store, which checks identities and signatures."""

from __future__ import annotations

from machine import calls, contents, expected
from object_store import READER, WRITER, Bucket, Keys


def test_record_compact_replay_and_identities(seaweedfs, make_machine):
    endpoint = f"http://127.0.0.1:{seaweedfs.port}"
    bucket = Bucket(seaweedfs.port, "loomrec-recordings")
    url = bucket.url("team/agent")
    running = [make_machine(endpoint=endpoint).start_recorder(url, "--run", "r", client=calls(f"r{number}"))
               for number in range(3)]
    for recorder in running:
        outcome = recorder.wait()
        assert outcome.code == 0, outcome.stderr
    assert len(bucket.segments("team/agent")) >= 3
    outcome = make_machine(endpoint=endpoint).run("merge", url)
    assert outcome.code == 0, outcome.stderr
    assert bucket.segments("team/agent") == []
    together = {}
    for number in range(3):
        together |= expected(f"r{number}", range(3))
    assert contents(make_machine(endpoint=endpoint).pull(url)) == together

    reader = make_machine(READER, endpoint)
    replayed = reader.replay(url, client=calls("r1"))
    assert replayed.code == 0, replayed.stderr
    before = bucket.contents()
    wrong = make_machine(Keys(WRITER.access, "wrong"), endpoint)
    unknown = make_machine(Keys("AKIANOBODY0000000001", "wrong"), endpoint)
    for machine, code, word in ((reader, 5, ""), (wrong, 4, "AWS_SECRET_ACCESS_KEY"),
                                (unknown, 4, "AWS_ACCESS_KEY_ID")):
        marker = machine.path("marker")
        outcome = machine.run("record", "-r", url, "--", "touch", str(marker))
        assert outcome.code == code, outcome.stderr
        assert len(outcome.error_lines) == 1, outcome.stderr
        assert word in outcome.stderr
        assert not marker.exists()
    assert bucket.contents() == before
    pushed = make_machine(endpoint=endpoint)
    assert pushed.run("pull", url, "-o", "agent.json").code == 0
    outcome = pushed.run("push", "agent.json", f"{url}@v1", "--force")
    assert outcome.code == 0, outcome.stderr
    assert contents(make_machine(READER, endpoint).pull(f"{url}@v1")) == together
