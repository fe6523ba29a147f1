"""Counts the requests to a store, and measures push, pull and the start of a replay. Prints Markdown."""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path

import machine as machines
from machine import Machine, calls
from object_store import Bucket, SeaweedFs
from proxy import Proxy
from pull_speed import run, start_replay, timed, write_recording
from upstream import Upstream

CALLS = 1000
COUNTED_ENTRIES = 10_000


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--entries", type=int, nargs="+", default=[10_000, 100_000])
    parser.add_argument("--answer-bytes", type=int, default=1000, help="the length of each answer's text")
    parser.add_argument("--before", type=Path, metavar="BINARY", help="an earlier loomrec, for a row of its own")
    return parser.parse_args()


def main() -> int:
    options = parse_arguments()
    folder = Path(tempfile.mkdtemp(prefix="loomrec-store-cost-"))
    upstream, store = Upstream(), SeaweedFs(folder)
    try:
        binaries = {"before": str(options.before)} if options.before else {}
        binaries["now"] = machines.LOOMREC
        print(f"| | {CALLS:,} calls recorded and merged | a cold pull of {COUNTED_ENTRIES:,} entries |\n|---|--:|--:|")
        for name, binary in binaries.items():
            machines.LOOMREC = binary
            counts = count_requests(folder / f"counts-{name}", store.port, upstream, options.answer_bytes)
            print(f"| {name} | {' | '.join(counts)} |", flush=True)
        print("\n| entries | | push | cold pull | replay listens, warm |\n|--:|---|--:|--:|--:|")
        for entries in options.entries:
            for name, binary in binaries.items():
                machines.LOOMREC = binary
                place = folder / f"times-{name}-{entries}"
                times = measure(place, store.port, upstream, entries, options.answer_bytes)
                print(f"| {entries:,} | {name} | {' | '.join(times)} |", flush=True)
    finally:
        store.close()
        upstream.close()
        shutil.rmtree(folder, ignore_errors=True)
    return 0


def count_requests(folder: Path, port: int, upstream: Upstream, answer_bytes: int) -> list[str]:
    """Returns how many requests recorded calls and a cold pull send, by method."""
    proxy = Proxy(port)
    recorder = Machine(folder / "recorder", proxy.url, upstream.url)
    bucket = Bucket(port, f"loomrec-{folder.name}")
    try:
        outcome = recorder.record(bucket.url("calls"), client=calls(count=CALLS))
        assert outcome.code == 0, outcome.stderr
        recorded = by_method(proxy)
        write_recording(recorder, COUNTED_ENTRIES, answer_bytes)
        run(recorder, "push", "agent.json", bucket.url("agent"))
        shutil.rmtree(recorder.cache, ignore_errors=True)
        proxy.forget()
        run(recorder, "pull", recorder.path("agent.remote.json"))
        return [recorded, by_method(proxy)]
    finally:
        recorder.end_all()
        proxy.close()


def by_method(proxy: Proxy) -> str:
    counts = Counter(request.method for request in proxy.requests)
    return ", ".join(f"{count:,} {method}" for method, count in sorted(counts.items(), reverse=True))


def measure(folder: Path, port: int, upstream: Upstream, entries: int, answer_bytes: int) -> list[str]:
    """Returns the times of a push, a cold pull and a warm start."""
    machine = Machine(folder, f"http://127.0.0.1:{port}", upstream.url)
    bucket = Bucket(port, f"loomrec-{folder.name}")
    try:
        write_recording(machine, entries, answer_bytes)
        push = timed(lambda: run(machine, "push", "agent.json", bucket.url("agent")))
        shutil.rmtree(machine.cache, ignore_errors=True)
        pull = timed(lambda: run(machine, "pull", machine.path("agent.remote.json")))
        start = min(start_replay(machine) for _ in range(9))
        return [f"{push:.1f} s", f"{pull:.1f} s", f"{start * 1000:.0f} ms"]
    finally:
        machine.end_all()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
