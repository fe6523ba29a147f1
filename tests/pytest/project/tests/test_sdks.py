"""Each provider's SDK: complete, streamed, async, and with faults."""

import asyncio

import openai
import pytest
from sdks import CLIENT, ask_anthropic, ask_async, ask_gemini, ask_openai, stream_openai, umbrella

pytestmark = pytest.mark.loomrec
BUSY = "http_error:429;retry_after_ms=10;times=1"
DOWN = "http_error:503;x_should_retry=false"


def test_umbrella():
    assert "umbrella" in umbrella()


def test_client_built_at_import_points_at_loomrec(loomrec):
    assert str(CLIENT.base_url).startswith(loomrec.url + "/")


def test_stream_comes_in_pieces():
    assert len(stream_openai("rivers meet the sea")) > 3


def test_anthropic():
    assert "the night is long" in ask_anthropic("the night is long")


def test_gemini():
    assert "bread needs time" in ask_gemini("bread needs time")


def test_three_providers_in_one_test(loomrec):
    ask_openai("one"), ask_anthropic("two"), ask_gemini("three")
    assert {call["upstream"] for call in loomrec.calls} == {"openai", "anthropic", "gemini"}


def test_shared_client(shared_client):
    assert "first" in ask_openai("the first of two", shared_client)


def test_shared_client_again(shared_client):
    assert "second" in ask_openai("the second of two", shared_client)


async def test_async():
    assert "async" in await ask_async("an async call")


async def test_async_at_once(loomrec):
    answers = await asyncio.gather(*(ask_async(f"task {number}") for number in range(8)))
    assert [f"task {number}" in answer for number, answer in enumerate(answers)] == [True] * 8
    assert loomrec.usage.output == 8 * 9


@pytest.mark.loomrec(fault=BUSY)
def test_retry_after_429(loomrec):
    assert "busy" in ask_openai("a busy moment")
    outcomes = [call["outcome"] for call in loomrec.calls if call.get("path")]
    assert outcomes == ["faulted", "served" if loomrec.mode == "replay" else "recorded"]


@pytest.mark.loomrec(fault=[BUSY], recovery="max_recovery_ms=5000")
def test_recovers_within_the_budget():
    assert "recover" in ask_openai("recover in time")


@pytest.mark.loomrec(faults={"rules": [{"name": "down", "fault": DOWN, "times": 1}]})
def test_fault_plan():
    with pytest.raises(openai.InternalServerError):
        ask_openai("is it down?")
    assert "down" in ask_openai("is it down?")
