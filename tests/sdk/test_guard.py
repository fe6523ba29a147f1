"""The guard: an SDK with an address in the code does not get around loomrec unseen."""

import loop as ways


NODE = ways.node(24)


def replayed_around(ask, around, loomrec, upstream, tmp_path, **variables):
    recording = tmp_path / "recording.json"
    assert loomrec.record(recording, upstream.url, ways.command(ask, "hi", node=NODE)).code == 0
    upstream.go_dark()
    replayed = loomrec.replay(recording, ways.command(around, "hi", node=NODE), **variables)
    assert upstream.connections_in_the_dark == 0
    return replayed


def assert_reported(replayed):
    seen = replayed.document
    assert seen["here"]["value"] == "You said “hi” 🙂"
    assert seen["around"]["failed"]["class"] == "APIConnectionError"
    assert replayed.code == 1, "the program swallowed the failure, loomrec must not"
    # The SDK tried again once.
    assert replayed.receipt["escapes"] == [{"host": "api.openai.com", "count": 2}]
    assert (replayed.receipt["served"], replayed.receipt["upstream_connections"]) == (1, 0)
    assert "2 connections to api.openai.com went around loomrec" in replayed.stderr
    assert "$OPENAI_BASE_URL" in replayed.stderr


def test_openai_python_with_an_address_in_the_code_is_reported(loomrec, upstream, tmp_path):
    replayed = replayed_around("openai_ask.py", "openai_around.py", loomrec, upstream, tmp_path)
    assert_reported(replayed)
    assert replayed.document["around"]["failed"]["cause"] == "ProxyError"


def test_openai_node_with_an_address_in_the_code_is_reported(loomrec, upstream, tmp_path):
    replayed = replayed_around("node_ask.mjs", "node_around.mjs", loomrec, upstream, tmp_path,
                               NODE_USE_ENV_PROXY="1")
    assert_reported(replayed)
