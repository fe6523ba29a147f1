"""Proves that nothing is lost while recorders, compactions and the store are killed."""

from __future__ import annotations

import argparse
import json
import random
import re
import shutil
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from botocore.exceptions import BotoCoreError, ClientError

from machine import Machine, Running, entries, prompt_of
from object_store import Bucket, Moto, SeaweedFs
from proxy import OldObjects, Proxy, is_write
from upstream import Upstream, answer_text

NAME = "soak/agent"
RUN = "soak"
RECORDERS_OF_A_MACHINE = 5
#: How a recorder may end: well, or killed.
EXPECTED_CODES = {0, -9}
#: The same if the store was away: at its beginning, or at its end for longer than it waits.
CODES_WITHOUT_STORE = {4, 5}


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--recorders", type=int, default=50)
    parser.add_argument("--calls", type=int, default=20_000, help="the calls of all recorders together")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--engine", choices=("moto", "seaweedfs"), default="seaweedfs")
    parser.add_argument("--cut", type=int, default=0, metavar="N", help="cut the answer of every Nth write")
    parser.add_argument("--pace", type=float, default=0.3, metavar="SECONDS",
                        help="the time between two calls of a recorder")
    parser.add_argument("--store-kills", type=int, default=2,
                        help="how often the store is killed, or with moto cut off")
    parser.add_argument("--damage", type=int, default=0, metavar="N",
                        help="damage or delete N objects, packs, indexes and segments")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep all files in FOLDER")
    return parser.parse_args()


class Store:
    """The engine with its gateways, each behind a proxy if its answers are to be cut."""

    def __init__(self, engine: str, folder: Path, cut: int, is_proxied: bool) -> None:
        self._engine = SeaweedFs(folder, gateways=2) if engine == "seaweedfs" else Moto(folder)
        ports = getattr(self._engine, "ports", [self._engine.port])
        # moto holds its objects in memory: only its network can fail.
        self._proxies = [Proxy(port) for port in ports] if cut or is_proxied or engine == "moto" else []
        for proxy in self._proxies if cut else []:
            proxy.cut_every(cut, is_write)
        self.endpoints = [proxy.url for proxy in self._proxies] or [f"http://127.0.0.1:{port}" for port in ports]
        self.bucket = Bucket(self._engine.port, "loomrec-soak")
        self.is_there = threading.Event()
        self.is_there.set()
        self.losses = 0

    def lose_and_restart(self) -> float:
        """Kills the store and starts it again. Returns for how many seconds it was away."""
        began = time.monotonic()
        self.losses += 1
        self.is_there.clear()
        if isinstance(self._engine, SeaweedFs):
            self._engine.kill()
            self._engine.start()
        else:
            for proxy in self._proxies:
                proxy.stop()
            time.sleep(15)  # about what SeaweedFS takes to start again
            for proxy in self._proxies:
                proxy.start()
        self.is_there.set()
        return time.monotonic() - began

    def stop_cutting(self) -> None:
        for proxy in self._proxies:
            proxy.forget()

    def age_segments(self) -> None:
        """Lets gaps last: all segments were written long ago."""
        for proxy in self._proxies:
            proxy.rules.change.append(OldObjects(self.bucket.segments(NAME)))

    def close(self) -> None:
        for proxy in self._proxies:
            proxy.close()
        self._engine.close()


class Damage:
    """Objects that were damaged or deleted, and what they were."""

    KINDS = ("objects", "packs", "indexes")

    def __init__(self, bucket: Bucket, chance: random.Random) -> None:
        self._bucket = bucket
        self._chance = chance
        self._done: list[tuple[str, bytes, bytes | None]] = []

    def strike(self, is_last: bool) -> bool:
        """Damages or deletes an object, in the end a segment. The last segment of a recorder is not deleted:
        nobody could notice that.
        """
        # A damaged segment stops all merges, and so nothing else comes to be.
        kind = "runs" if is_last else self._chance.choice(self.KINDS)
        keys = self._bucket.segments(NAME) if kind == "runs" else self._bucket.keys(f"{NAME}/{kind}/")
        is_deleted = self._chance.random() < 0.5
        if kind == "runs" and is_deleted:
            folders = [key.rpartition("/")[0] for key in keys]
            keys = [key for key, folder, after in zip(keys, folders, folders[1:], strict=False) if folder == after]
        if not keys:
            return False
        key = self._chance.choice(sorted(keys))
        try:
            content = self._bucket.get(key)
        except ClientError:  # a compaction has just removed it
            return False
        damaged = None
        if not is_deleted:
            at = self._chance.randrange(len(content))
            damaged = content[:at] + bytes([content[at] ^ 0x10]) + content[at + 1:]
        # Noted first: a store that is killed meanwhile may have done it or not.
        self._done.append((key, content, damaged))
        if is_deleted:
            self._bucket.delete(key)
        else:
            self._bucket.put(key, damaged)
        return True

    def undo(self) -> Counter:
        """Puts back what nobody has replaced since. Returns how many of each kind were damaged."""
        there = set(self._bucket.keys(f"{NAME}/"))
        for key, content, damaged in reversed(self._done):
            if (self._bucket.get(key) if key in there else None) == damaged:
                self._bucket.put(key, content)
                there.add(key)
        return Counter(key.removeprefix(f"{NAME}/").partition("/")[0] for key, _, _ in self._done)


@dataclass
class Recorder:
    """One of the recorders: what it has still to do, and how its processes ended."""

    number: int
    machine: Machine
    left: int
    attempt: int = 0
    running: Running | None = None
    acks: list[dict] = field(default_factory=list)
    sent: Counter = field(default_factory=Counter)
    codes: Counter = field(default_factory=Counter)
    unexpected: list[str] = field(default_factory=list)

    def work(self, *arguments) -> None:
        """Records until every call has been acknowledged, and notes what goes wrong."""
        try:
            self.record(*arguments)
        except Exception as error:  # a thread that dies would only print it
            self.unexpected.append(f"{type(error).__name__}: {error}"[-2000:])

    def record(self, store: Store, url: str, pace: float, seed: int) -> None:
        """Records until every call has been acknowledged. Each attempt has prompts of its own: a call that
        was recorded and not acknowledged is made again by the next one, as another call.
        """
        chance = random.Random(f"{seed}/{self.number}")
        while self.left > 0:
            self.attempt += 1
            label = f"recorder {self.number} attempt {self.attempt} call"
            losses = store.losses
            client = ["--label", label, "--calls", str(self.left), "--pace", str(pace)]
            self.running = self.machine.start_recorder(url, "--run", RUN, "--drain", "60", client=client,
                                                       AWS_ENDPOINT_URL=chance.choice(store.endpoints))
            outcome = self.running.wait(900)
            self.running.kill_group()
            acks = self.running.acks
            self.acks += acks
            self.sent[label] = self.left
            self.left -= len(acks)
            self.codes[outcome.code] += 1
            if outcome.code in CODES_WITHOUT_STORE and (store.losses > losses or not store.is_there.is_set()):
                store.is_there.wait(120)
            elif outcome.code not in EXPECTED_CODES or self.attempt > 200:
                ended = f"attempt {self.attempt} ended with {outcome.code}"
                self.unexpected.append(f"{ended}: {outcome.stderr[-2000:]}")
                return


class Soak:
    """The run: recorders, those who kill them, and the checks at the end."""

    def __init__(self, options: argparse.Namespace, folder: Path) -> None:
        self.options = options
        self.folder = folder
        self.chance = random.Random(options.seed)
        self.upstream = Upstream()
        (folder / "store").mkdir(parents=True)
        self.store = Store(options.engine, folder / "store", options.cut, options.damage > 0)
        self.damage = Damage(self.store.bucket, random.Random(f"{options.seed}/damage"))
        self.url = self.store.bucket.url(NAME)
        count = -(-options.recorders // RECORDERS_OF_A_MACHINE)
        self.machines = [self.make_machine(f"machine-{number}") for number in range(count)]
        share, more = divmod(options.calls, options.recorders)
        self.recorders = [Recorder(number, self.machines[number % count], share + (number < more))
                          for number in range(options.recorders)]
        self.done = threading.Event()
        self.kills: Counter = Counter()
        self.store_away: list[float] = []
        self.passed = self.failed = 0

    def make_machine(self, name: str) -> Machine:
        return Machine(self.folder / name, self.chance.choice(self.store.endpoints), self.upstream.url)

    def run(self) -> None:
        began = time.monotonic()
        arguments = (self.store, self.url, self.options.pace, self.options.seed)
        workers = [threading.Thread(target=recorder.work, args=arguments) for recorder in self.recorders]
        others = [threading.Thread(target=each)
                  for each in (self.kill_recorders, self.kill_compactions, self.damage_store)]
        for thread in workers + others:
            thread.start()
        self.kill_store(workers)  # in this thread: Linux ends the store with the thread that has started it
        for thread in workers:
            thread.join()
        self.done.set()
        for thread in others:
            thread.join()
        acknowledged = sum(len(recorder.acks) for recorder in self.recorders)
        print(f"recorded in {time.monotonic() - began:.0f} s: {acknowledged} calls acknowledged, "
              f"{len(self.upstream.prompts)} answered by the upstream")
        codes = sum((recorder.codes for recorder in self.recorders), Counter())
        away = ", ".join(f"{seconds:.0f} s" for seconds in self.store_away) or "never"
        print(f"killed: {self.kills['recorder']} recorders, {self.kills['compaction']} of "
              f"{self.kills['compactions']} compactions, the store {len(self.store_away)} times "
              f"(away: {away}); exit codes of recorders: {dict(sorted(codes.items()))}")

    def kill_recorders(self) -> None:
        chance = random.Random(f"{self.options.seed}/kills")
        while not self.done.wait(chance.expovariate(1.0)):
            alive = [recorder.running.process for recorder in self.recorders
                     if recorder.running is not None and recorder.running.process.poll() is None]
            if alive:
                chance.choice(alive).kill()
                self.kills["recorder"] += 1

    def kill_compactions(self) -> None:
        chance = random.Random(f"{self.options.seed}/compactions")
        machine = self.make_machine("compactor")
        while not self.done.wait(chance.uniform(2, 8)):
            running = machine.start("merge", self.url)
            self.kills["compactions"] += 1
            is_due = chance.random() < 0.5 and not self.done.wait(chance.uniform(0.05, 1.0))
            if is_due and running.process.poll() is None:
                running.process.kill()
                self.kills["compaction"] += 1
            running.wait(300)

    def damage_store(self) -> None:
        """Damages objects after equal parts of the calls."""
        for part in range(1, self.options.damage + 1):
            while len(self.upstream.prompts) < self.options.calls * part // (self.options.damage + 1):
                if self.done.wait(0.1):
                    return
            while not self.try_damage(part == self.options.damage):
                if self.done.wait(0.3):
                    return

    def try_damage(self, is_last: bool) -> bool:
        """Returns whether something was damaged. The store may be killed meanwhile."""
        self.store.is_there.wait()
        try:
            return self.damage.strike(is_last)
        except BotoCoreError:
            return False

    def check_damage(self) -> None:
        """Nothing was lost without a word. Then undoes the damage, so that all calls are there again."""
        self.store.age_segments()
        merges = [machine.start("merge", self.url).wait(600) for machine in self.machines]
        reader = self.make_machine("damaged-reader")
        pulled = reader.start("pull", self.url, "-o", "damaged.json").wait(600)
        checked = reader.start("verify", self.url).wait(600)
        is_named = [bool(re.search(r"/(objects|packs|indexes|runs|manifests)/|runs/", outcome.stderr))
                    for outcome in (*merges, pulled, checked) if outcome.code]
        self.expect(all(is_named), "every failure names an object")
        if pulled.code == 0:
            found = set(map(prompt_of, entries(json.loads(reader.path("damaged.json").read_bytes()))))
            lost = [ack["prompt"] for recorder in self.recorders for ack in recorder.acks]
            self.expect_none("what is lost is named", set(lost) - found)
        kinds = self.damage.undo()
        print(f"damaged: {dict(kinds)}; exit codes: compact {[merge.code for merge in merges]}, pull {pulled.code}, "
              f"verify {checked.code}")
        repaired = reader.start("verify", "--fix", self.url).wait(600)
        print(f"verify --fix ended with {repaired.code}")

    def kill_store(self, workers: list[threading.Thread]) -> None:
        """Kills the store after equal parts of the calls."""
        parts = self.options.store_kills + 1
        for part in range(1, parts):
            while len(self.upstream.prompts) < self.options.calls * part // parts:
                if self.done.wait(0.2) or not any(thread.is_alive() for thread in workers):
                    return
            self.store_away.append(self.store.lose_and_restart())

    def check(self) -> None:
        self.store.stop_cutting()
        unexpected = [ending for recorder in self.recorders for ending in recorder.unexpected]
        self.expect_none("every recorder ends as it should", unexpected)
        if self.options.damage:
            self.check_damage()
        began = time.monotonic()
        rounds = self.compact_until_clean()
        print(f"compacted until clean in {rounds} rounds and {time.monotonic() - began:.1f} s")
        self.expect(self.store.bucket.segments(NAME) == [], "no segment is left")
        reader = self.make_machine("reader")
        began = time.monotonic()
        recording = reader.pull(self.url)
        found = entries(recording)
        print(f"pulled {len(found)} calls in {time.monotonic() - began:.1f} s")
        acks = [ack for recorder in self.recorders for ack in recorder.acks]
        self.check_calls(found, acks)
        print(f"{len(acks)} calls that were acknowledged, {len(found) - len(acks)} that were recorded only")
        times = [entry["recorded_at"] for entry in found]
        self.expect(times == sorted(times), "the takes are in the order of their times")
        for line in (["verify", "--quiet", self.url], ["gc", self.url]):
            outcome = reader.start(*line).wait(300)
            self.expect(outcome.code == 0, f"loomrec {line[0]} ends with 0", outcome.stderr[-2000:])
        pinned = f"{self.url}@sha256:{self.store.bucket.manifest_hash(NAME)}"
        second = self.make_machine("second-reader").pull(pinned)
        self.expect(second == recording, "another machine pulls the same recording by its hash")

    def check_calls(self, found: list[dict], acks: list[dict]) -> None:
        counts = Counter(map(prompt_of, found))
        answers = {prompt_of(entry): entry["content"] for entry in found}
        acknowledged = {ack["prompt"]: ack["answer"] for ack in acks}
        sent = set(self.upstream.prompts)
        self.expect(len(acks) == len(acknowledged) == self.options.calls, "every call was acknowledged once",
                    f"{len(acks)} of {self.options.calls}")
        self.expect_none("every acknowledged call is in the recording", acknowledged.keys() - counts.keys())
        self.expect_none("no call is in the recording twice",
                         [prompt for prompt, count in counts.items() if count > 1])
        self.expect_none("every acknowledged call has its answer",
                         [prompt for prompt, text in acknowledged.items() if answers.get(prompt, text) != text])
        self.expect_none("every recorded answer is the upstream's",
                         [prompt for prompt, answer in answers.items() if answer != answer_text(prompt)])
        self.expect_none("nothing else is in the recording", counts.keys() - sent)

    def compact_until_clean(self) -> int:
        """Compacts on every machine, until each ends with 0 and the last one changes nothing."""
        for round_number in range(1, 6):
            outcomes = [machine.start("merge", self.url).wait(600) for machine in self.machines]
            if all(outcome.code == 0 for outcome in outcomes):
                return round_number
        self.expect(False, "compactions end with 0", *(each.stderr[-1000:] for each in outcomes if each.code))
        return round_number

    def expect_none(self, what: str, wrong: Iterable[str]) -> None:
        wrong = sorted(wrong)
        self.expect(not wrong, what, f"{len(wrong)} are not:", *wrong[:5])

    def expect(self, holds: bool, what: str, *details: str) -> None:
        """Counts a check, and says which one failed."""
        if holds:
            self.passed += 1
            return
        self.failed += 1
        print(f"FAILED: {what}", *details, sep="\n    ")

    def close(self) -> None:
        self.done.set()
        for recorder in self.recorders:
            recorder.left = 0
        for machine in self.machines:
            machine.end_all()
        self.store.close()
        self.upstream.close()


def main() -> int:
    options = parse_arguments()
    sys.stdout.reconfigure(line_buffering=True)
    folder = options.keep or Path(tempfile.mkdtemp(prefix="loomrec-soak-"))
    print(f"{options.recorders} recorders, {options.calls} calls, {options.engine}, seed {options.seed}"
          + (f", one of {options.cut} answers to writes cut" if options.cut else ""))
    soak = Soak(options, folder)
    try:
        soak.run()
        soak.check()
    finally:
        soak.close()
        if options.keep is None:
            shutil.rmtree(folder, ignore_errors=True)
    print(f"{soak.passed} passed, {soak.failed} failed")
    return 1 if soak.failed else 0


if __name__ == "__main__":
    sys.exit(main())
