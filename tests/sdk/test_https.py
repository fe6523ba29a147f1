"""Upstreams over https: what an SDK saw of one while recording it sees again on replay."""

import pytest

PROGRAMS = ["openai_chat.py", "openai_chat_stream.py", "anthropic_messages.py", "node_chat.mjs"]


@pytest.mark.parametrize("upstream", ["https"], indirect=True)
@pytest.mark.parametrize("program", PROGRAMS)
def test_an_upstream_over_https_is_recorded_and_replayed(program, whole_loop, upstream):
    whole_loop(program)
    assert upstream.url.startswith("https://")
    assert upstream.failed_handshakes == 0
