"""Measures a cold pull against plain downloads of the same objects, and the start of a replay."""

from __future__ import annotations

import argparse
import copy
import hashlib
import json
import random
import shutil
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from machine import Machine
from object_store import Bucket, Moto, SeaweedFs, s3_client
from upstream import Upstream

NAME = "speed/agent"
WORDS = ("the", "weather", "tomorrow", "is", "rain", "and", "wind", "at", "sea", "cold", "light", "from")


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entries", type=int, default=10_000)
    parser.add_argument("--answer-bytes", type=int, default=1000, help="the length of each answer's text")
    parser.add_argument("--engine", choices=("moto", "seaweedfs"), default="seaweedfs")
    parser.add_argument("--rounds", type=int, default=3)
    return parser.parse_args()


def main() -> int:
    options = parse_arguments()
    folder = Path(tempfile.mkdtemp(prefix="loomrec-pull-speed-"))
    upstream = Upstream()
    store = (Moto if options.engine == "moto" else SeaweedFs)(folder)
    machine = Machine(folder / "machine", f"http://127.0.0.1:{store.port}", upstream.url)
    try:
        measure(options, machine, Bucket(store.port, "loomrec-speed"), store.port)
    finally:
        machine.end_all()
        store.close()
        upstream.close()
        shutil.rmtree(folder, ignore_errors=True)
    return 0


def measure(options: argparse.Namespace, machine: Machine, bucket: Bucket, port: int) -> None:
    url = bucket.url(NAME)
    write_recording(machine, options.entries, options.answer_bytes)
    size = machine.path("agent.json").stat().st_size
    print(f"{options.entries} entries, {size / 1e6:.1f} MB, engine {options.engine}")
    print(f"push: {timed(lambda: run(machine, 'push', 'agent.json', url)):.2f} s")

    def pull_cold() -> None:
        run(machine, "pull", machine.path("agent.remote.json"))

    def pull_file() -> None:
        run(machine, "pull", machine.path("agent.remote.json"), "-o", "pulled.json")
        assert machine.path("pulled.json").read_bytes() == machine.path("agent.json").read_bytes()
        machine.path("pulled.json").unlink()

    figures: dict[str, list[float]] = {}
    for _ in range(options.rounds):  # in turn, so that what else the machine does meets all alike
        for what, action in (("pull, cold", pull_cold), ("pull -o, cold", pull_file), ("pull -o, warm", pull_file),
                             ("boto3, one after the other", lambda: download(port, bucket.name, 1)),
                             ("boto3, 10 threads", lambda: download(port, bucket.name, 10))):
            if "warm" not in what:
                shutil.rmtree(machine.cache, ignore_errors=True)
            figures.setdefault(what, []).append(timed(action))
    for what, seconds in figures.items():
        each = ", ".join(f"{second:.2f}" for second in seconds)
        print(f"{what}: {statistics.median(seconds):.2f} s (median of {len(seconds)}: {each})")
    for what in ("boto3, one after the other", "boto3, 10 threads"):
        ratio = statistics.median(figures[what]) / statistics.median(figures["pull, cold"])
        print(f"{what}, by a cold pull: {ratio:.2f}")

    run(machine, "pull", machine.path("agent.remote.json"))
    starts = [start_replay(machine) for _ in range(5)]
    print(f"replay of the pointer with a full cache, until it listens: {statistics.median(starts) * 1000:.0f} ms "
          f"(median of 5: {', '.join(f'{each * 1000:.0f}' for each in starts)})")
    files = [start_replay(machine, "agent.json") for _ in range(5)]
    print(f"replay of the file, until it listens: {statistics.median(files) * 1000:.0f} ms")


def write_recording(machine: Machine, count: int, answer_bytes: int) -> None:
    """Writes `agent.json`: one recorded call, many times with other words and the right hashes."""
    outcome = machine.record("one.json", client=["--calls", "1"])
    assert outcome.code == 0, outcome.stderr
    recorded = json.loads(machine.path("one.json").read_bytes())
    (old_key, entry), = ((key, value) for key, value in recording_items(recorded))
    made = {key: value for key, value in recorded.items() if key != old_key}
    source = random.Random(7)
    for number in range(count):
        prompt = f"prompt {number} of {count}"
        # Words, not noise: texts of models compress.
        words = " ".join(source.choices(WORDS, k=answer_bytes // 3 + 1))
        key, copied = multiply(entry, prompt, words[:answer_bytes], number)
        made[key] = copied
    # As loomrec writes it: the formatting of what follows from the template.
    machine.path("raw.json").write_text(json.dumps(made, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    run(machine, "verify", "--fix", "--quiet", "raw.json")
    run(machine, "verify", "--quiet", "raw.json")
    machine.path("raw.json").rename(machine.path("agent.json"))


def recording_items(recording: dict) -> list[tuple[str, dict]]:
    return [(key, value) for key, value in recording.items() if not key.startswith("_")]


def multiply(entry: dict, prompt: str, answer: str, number: int) -> tuple[str, dict]:
    """Returns a copy of an entry with another prompt and answer, and its key."""
    made = copy.deepcopy(entry)
    body = made["request"]["body"]
    body["messages"][0]["content"] = prompt
    # docs/recording-format.md: the canonical text of chat completions.
    text = json.dumps({"extra": {}, "max_tokens": None, "temperature": None, **body}, sort_keys=True)
    key = hashlib.sha256(text.encode()).hexdigest()
    made["request_hash"] = key
    made["content"] = answer
    made["response"]["body"]["choices"][0]["message"]["content"] = answer
    made["response"]["headers"].pop("content-length", None)
    second, micro = divmod(number, 1_000_000)
    made["recorded_at"] = f"2026-11-22T01:28:{second:02}.{micro:06}Z"
    return key, made


def download(port: int, bucket: str, threads: int) -> None:
    """Downloads every object as a program without loomrec would: one client, a listing, a GET each."""
    client = s3_client(port)
    pages = client.get_paginator("list_objects_v2").paginate(Bucket=bucket, Prefix=f"{NAME}/objects/")
    keys = [each["Key"] for page in pages for each in page.get("Contents", [])]

    def get(key: str) -> int:
        return len(client.get_object(Bucket=bucket, Key=key)["Body"].read())

    if threads == 1:
        total = sum(map(get, keys))
    else:
        with ThreadPoolExecutor(threads) as pool:
            total = sum(pool.map(get, keys))
    assert total > 0


def start_replay(machine: Machine, name: str = "agent.remote.json") -> float:
    """Returns the seconds until a replay listens."""
    began = time.perf_counter()
    running = machine.start("replay", "--strict", "-r", name, "--listen", "127.0.0.1:0", "--allow-empty")
    running.wait_for_line("listening on")
    taken = time.perf_counter() - began
    running.process.send_signal(signal.SIGTERM)
    running.wait()
    return taken


def run(machine: Machine, *line: str | Path) -> None:
    outcome = machine.start(*line).wait(600)
    assert outcome.code == 0, outcome.stdout[-3000:] + outcome.stderr[-3000:]


def timed(action: Callable[[], None]) -> float:
    began = time.perf_counter()
    action()
    return time.perf_counter() - began


if __name__ == "__main__":
    sys.exit(main())
