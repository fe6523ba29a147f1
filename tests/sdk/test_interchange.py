"""What VCR.py and mitmproxy recorded of the real SDKs is imported, and replayed to the
same SDKs; VCR.py plays what was exported."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
import yaml

import loop as ways
from conftest import assert_green

PROGRAMS = ["openai_chat.py", "openai_chat_stream.py", "openai_tools.py", "openai_responses.py",
            "openai_embeddings.py", "openai_retry.py", "openai_audio.py", "openai_async.py",
            "anthropic_messages.py"]
# A cassette in JSON cannot hold the audio's bytes.
TAPED = [(program, "yaml") for program in PROGRAMS]
TAPED += [(program, "json") for program in ("openai_chat_stream.py", "openai_tools.py", "anthropic_messages.py")]


@pytest.mark.parametrize(("program", "serializer"), TAPED)
def test_a_cassette_of_vcrpy_is_replayed_to_the_same_sdk(upstream, loomrec, tmp_path, program, serializer):
    cassette = tmp_path / f"cassette.{serializer}"
    line = ways.command("taped.py", str(cassette), serializer, str(ways.PROGRAMS / program))
    taped = ways.direct(upstream.url, line, tmp_path)
    assert taped.code == 0, taped.stderr
    calls = len(upstream.requests)
    upstream.go_dark()
    recording = imported(loomrec, upstream, cassette, tmp_path)
    assert len(ways.entries(recording)) == calls
    replayed = loomrec.replay(recording, ways.command(program), "--fail-unused")
    assert replayed.code == 0, replayed.stderr
    assert replayed.document == taped.document, "replay differs from what VCR.py recorded"
    assert_green(replayed, upstream)


def test_an_exported_cassette_is_played_by_vcrpy(upstream, loomrec, tmp_path):
    program = ways.command("openai_chat.py")
    recorded = loomrec.record(tmp_path / "r.json", upstream.url, program)
    assert recorded.code == 0, recorded.stderr
    upstream.go_dark()
    for name, form in (("yaml", "vcr"), ("json", "vcr-json")):
        cassette = tmp_path / f"out.{name}"
        run(loomrec, "export", "--to", form, str(tmp_path / "r.json"), "-o", str(cassette),
            f"--upstream=openai={upstream.url}/v1")
        player = tmp_path / "play.py"
        player.write_text(
            "import runpy, sys, vcr\n"
            f"sys.path.insert(0, {str(ways.PROGRAMS)!r})\n"
            f"with vcr.use_cassette({str(cassette)!r}, serializer={name!r}, record_mode='none'):\n"
            f"    runpy.run_path({program[1]!r}, run_name='__main__')\n", encoding="utf-8")
        played = ways.direct(upstream.url, [program[0], str(player)], tmp_path)
        assert played.code == 0, played.stderr
        assert played.document == recorded.document


@pytest.mark.parametrize("program", [*PROGRAMS[:6], "anthropic_messages.py"])
def test_a_har_file_of_mitmproxy_is_replayed_to_the_same_sdk(upstream, loomrec, tmp_path, mitmproxy, program):
    line = ways.command(program)
    with mitmproxy(upstream.url) as (address, har):
        seen = ways.direct(address, line, tmp_path)
    assert seen.code == 0, seen.stderr
    calls = len(upstream.requests)
    upstream.go_dark()
    recording = imported(loomrec, upstream, har, tmp_path)
    assert len(ways.entries(recording)) == calls
    assert all("recorded_at" in entry for entry in ways.entries(recording))
    replayed = loomrec.replay(recording, line, "--fail-unused")
    assert replayed.code == 0, replayed.stderr
    assert replayed.document == seen.document, "replay differs from what mitmproxy saw"
    assert_green(replayed, upstream)


def test_values_that_pyyaml_writes_come_over_as_it_reads_them(loomrec, tmp_path):
    chance = random.Random(51)

    def text() -> str:
        letters = chance.choice(["0123456789+-._eExob:", "0123456789 yn'\"#,=<&*|>%@`[]{}\n\té🙂~"])
        words = ["null", "yes", "on", "1e5", "0o17", ".inf", "2024-01-01", "<<"]
        pieces = [*letters, *words] if chance.random() < 0.2 else letters
        return "".join(chance.choice(pieces) for _ in range(chance.randint(0, 7)))

    def number() -> float:
        wide = chance.randint(-10 ** chance.randint(1, 40), 10**40)
        return chance.choice([wide, chance.uniform(-1, 1) * 10.0 ** chance.randint(-300, 300), -0.0, 1e16])

    def value() -> object:
        return chance.choice([text, text, number, lambda: chance.choice([True, False, None]),
                              lambda: {text(): text() for _ in range(3)}])()

    bodies = [{"model": f"m{n}", "messages": [value() for _ in range(20)]} for n in range(100)]
    headers = {"content-type": ["application/json"]}
    interactions = [{
        "request": {"method": "POST", "uri": "https://api.openai.com/v1/chat/completions",
                    "headers": headers, "parsed_body": body},
        "response": {"status": {"code": 200}, "headers": headers, "parsed_body": body},
    } for body in bodies]
    for run_number, options in enumerate([{}, {"allow_unicode": True, "width": 10**9}, {"default_flow_style": True}]):
        cassette, recording = tmp_path / f"{run_number}.yaml", tmp_path / f"{run_number}.json"
        written = yaml.safe_dump({"interactions": interactions, "version": 1}, sort_keys=False, **options)
        assert yaml.safe_load(written)["interactions"] == interactions
        cassette.write_text(written, encoding="utf-8")
        run(loomrec, "import", "--from", "vcr", str(cassette), "-o", str(recording))
        held = {entry["request"]["body"]["model"]: entry for entry in ways.entries(recording)}
        for body in bodies:
            entry = held[body["model"]]
            assert json.dumps(entry["request"]["body"]) == json.dumps(body)
            assert json.dumps(entry["response"]["body"]) == json.dumps(body)


def imported(loomrec, upstream, source: Path, tmp_path: Path) -> Path:
    recording = tmp_path / "imported.json"
    told = run(loomrec, "import", str(source), "-o", str(recording), "--json",
               f"--upstream=openai={upstream.url}/v1", f"--upstream=anthropic={upstream.url}")
    receipt = json.loads(told.stdout)
    assert receipt["left_out"] == [] and receipt["other_hosts"] == [], receipt
    for key in ways.KEYS.values():
        assert key.encode() not in recording.read_bytes(), "a key came over"
    return recording


def run(loomrec, *arguments: str) -> ways.Outcome:
    done = ways.execute([loomrec.binary, *arguments], ways.environment(), loomrec.where)
    assert done.code == 0, done.stderr
    return done
