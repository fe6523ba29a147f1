"""Changes each word, number and name in requests that real agents sent, one at a time, and asks
loomrec whether it still answers from the recording.

    tests/agents/mutation.py [--loomrec BINARY] [--doc FILE] FOLDER [RUN…]

FOLDER is that of `tests/agents/run --keep FOLDER`; a RUN is a folder in its `requests`. The requests
are asked as a run in another directory would send them. Strings that an earlier request of the run
has at the same place are not changed again.

A change is a survivor if it is answered and is not within a hole for an id or a measurement of the
preset's rules. Prints the numbers of changes for each run, and fails if there are survivors.
"""

from __future__ import annotations

import argparse
import http.client
import json
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from harness import installed
from recipes import RECIPES
from table import write_table

WORD = re.compile(r"[^\W_]+")
#: What stands for a string while the rest of a body is written.
MARK = "@@changed string@@"
#: The directory in which the requests are asked.
ELSEWHERE = "/builds/7"
#: The kinds of holes in which any text of the kind is accepted.
KINDS = {
    "uuid": r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", "id": r"[\w-]+",
    "epoch": r"[1-9][0-9]{9,18}(?:\.[0-9]+)?", "pid": r"[0-9]+", "port": r"[0-9]+",
    "count": r"[0-9]+", "git_state": r"\{.*?\}\}|\{[^{}]*\}", "date": r".+?", "time": r".+?",
    "duration": r"[0-9.]+(?: ?[a-z]+)?",
}
#: Members of a body that only choose how the answer is delivered, and are not compared.
DELIVERY = ("/stream", "/stream_options")
SKIPPED_HEADERS = {"host", "content-length", "connection", "transfer-encoding", "accept-encoding"}
THREADS = 2


@dataclass
class Change:
    """One change: where it is, what was there, and the body with it."""

    pointer: str
    text: str
    span: tuple[int, int]
    body: str


@dataclass
class Tally:
    """What became of the changes of a run."""

    requests: int = 0
    tried: int = 0
    in_holes: int = 0
    survivors: list[str] = field(default_factory=list)


@dataclass
class KeptRequest:
    """A request that the upstream received."""

    path: str
    headers: dict[str, str]
    body: str


def other(word: str) -> str:
    """Returns another word or number of the same form."""
    at = max(at for at, letter in enumerate(word) if letter.isalnum())
    return word[:at] + {"9": "8", "z": "y", "Z": "Y", "f": "e"}.get(
        word[at], chr(ord(word[at]) + 1)) + word[at + 1:]


def strings(value, pointer: str = ""):
    """Yields each string, number and member name of a body: its pointer, and the text."""
    if isinstance(value, (str, int, float)) and not isinstance(value, bool):
        yield pointer, value
    for name, item in value.items() if isinstance(value, dict) else []:
        yield f"{pointer}/{name} (name)", name
        yield from strings(item, f"{pointer}/{name}")
    for index, item in enumerate(value) if isinstance(value, list) else []:
        yield from strings(item, f"{pointer}/{index}")


def with_text(value, pointer: str, text, at: str = ""):
    """Returns a copy of a body with another string, number or name at a pointer."""
    if at == pointer:
        return text
    if isinstance(value, dict):
        return {text if f"{at}/{name} (name)" == pointer else name:
                with_text(item, pointer, text, f"{at}/{name}") for name, item in value.items()}
    if isinstance(value, list):
        return [with_text(item, pointer, text, f"{at}/{index}") for index, item in enumerate(value)]
    return value


def place(pointer: str) -> str:
    """Returns a pointer without the numbers of elements."""
    return re.sub(r"/[0-9]+(?=/|$)", "/*", pointer)


def changes(body: dict, seen: set):
    """Yields all changes of a body, except those of strings that were seen."""
    for pointer, text in strings(body):
        if (place(pointer), text) in seen or pointer.startswith(DELIVERY):
            continue
        seen.add((place(pointer), text))
        if not isinstance(text, str):
            digits = json.dumps(text)
            changed = json.dumps(with_text(body, pointer, json.loads(other(digits))))
            yield Change(pointer, digits, (0, len(digits)), changed)
            continue
        before, after = json.dumps(with_text(body, pointer, MARK)).split(MARK)
        for word in WORD.finditer(text):
            new = text[:word.start()] + other(word.group()) + text[word.end():]
            yield Change(pointer, text, word.span(), before + json.dumps(new)[1:-1] + after)


def frames(rules: list[str]):
    """Returns a regular expression for each rule, with its place and the number of its groups for
    ids and measurements."""
    for rule in rules:
        where, _, frame = rule.partition(": ")
        if frame in KINDS or re.fullmatch(r"hex[0-9]+", frame):
            frame = "{{" + frame + "}}"
        pattern = ""
        for part in re.split(r"(\{\{[\w:]+\}\})", frame.replace("\\n", "\n").replace("\\t", "\t")):
            kind = part[2:-2] if part.startswith("{{") else None
            if kind is None:
                pattern += re.escape(part)
            elif digits := re.fullmatch(r"hex([0-9]+)", kind):
                pattern += "([0-9a-fA-F]{%s})" % digits[1]
            else:
                pattern += f"({KINDS[kind]})" if kind in KINDS else r"(?:.*?)"
        yield where, re.compile(pattern, re.DOTALL)


def is_in_hole(change: Change, rules: list) -> bool:
    """Whether a change is within a hole for an id or a measurement."""
    for where, pattern in rules:
        is_role = not where.startswith("/")
        if not is_role and where != place(change.pointer) and where != change.pointer:
            continue
        found = pattern.match(change.text)
        spans = [found.span(group + 1) for group in range(pattern.groups)] if found else []
        if any(start <= change.span[0] and change.span[1] <= end for start, end in spans):
            return True
    return False


class Replay:
    """A server that answers from a recording."""

    def __init__(self, loomrec: str, recording: Path, values: dict[str, str]):
        flags = [word for name, text in values.items() for word in ("--var", f"{name}={text}")]
        self.process = subprocess.Popen(
            [loomrec, "replay", "--repeat", "last", "--listen", "127.0.0.1:0", *flags,
             "-r", str(recording)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
            cwd="/")
        self.address = ""
        for line in self.process.stdout:
            if found := re.search(r"http://(127\.0\.0\.1:[0-9]+)", line):
                self.address = found[1]
                break
        self.reader = ThreadPoolExecutor(1)
        self.reader.submit(self.process.stdout.read)

    def stop(self) -> None:
        self.process.terminate()
        self.process.wait()
        self.reader.shutdown()

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(self.address, timeout=60)

    @staticmethod
    def ask(connection: http.client.HTTPConnection, request: KeptRequest, body: str) -> int:
        """Returns the status of the answer to a request with this body."""
        try:
            connection.request("POST", request.path, body.encode(), request.headers)
            answer = connection.getresponse()
        except (ConnectionError, http.client.HTTPException):
            # An idle connection was closed.
            connection.close()
            connection.request("POST", request.path, body.encode(), request.headers)
            answer = connection.getresponse()
        answer.read()
        return answer.status


def read_requests(folder: Path, base: str) -> list[KeptRequest]:
    """Returns the requests of a run, as another directory would have them."""
    kept = []
    for line in (folder / "requests.jsonl").read_text().splitlines():
        one = json.loads(line)
        headers = {name: text for name, text in one["headers"].items()
                   if name.lower() not in SKIPPED_HEADERS}
        kept.append(KeptRequest(one["path"], headers, moved(one["body"], base)))
    return kept


def moved(text: str, base: str) -> str:
    """Returns a text with another directory in the place of that of the runs."""
    for old, new in ((base, ELSEWHERE), (base.replace("/", "-"), ELSEWHERE.replace("/", "-")),
                     (re.sub(r"[^a-zA-Z0-9]", "-", base), ELSEWHERE.replace("/", "-"))):
        text = text.replace(old, new)
    return text


def try_run(work: Path, name: str, loomrec: str) -> Tally:
    """Changes the requests of one run."""
    base = work / name
    recording = next((base / "recorded").rglob("recordings/agent.json"))
    entries = [entry for key, entry in json.loads(recording.read_text()).items()
               if not key.startswith("_")]
    values = {name: text for entry in entries for name, text in entry.get("run_values", {}).items()}
    presets = {entry["preset"].split(" ")[0] for entry in entries if "preset" in entry}
    rules = [rule for preset in presets for rule in frames(rules_of(loomrec, preset))]
    replay = Replay(loomrec, recording,
                    {name: moved(text, f"{base}/now") for name, text in values.items()})
    tally, seen = Tally(), set()
    try:
        for request in read_requests(work / "requests" / name, f"{base}/now"):
            connection = replay.connect()
            if replay.ask(connection, request, request.body) != 200:
                tally.survivors.append(f"request {tally.requests} is a miss without a change")
                continue
            tally.requests += 1
            try_all(replay, request, changes(json.loads(request.body), seen), rules, tally)
    finally:
        replay.stop()
    return tally


def try_all(replay: Replay, request: KeptRequest, all_changes, rules: list, tally: Tally) -> None:
    """Asks for each change, and counts what was answered."""
    def try_some(some: list[Change]) -> list[Change]:
        connection = replay.connect()
        return [change for change in some if replay.ask(connection, request, change.body) == 200]

    def batches():
        batch = []
        for change in all_changes:
            batch.append(change)
            if len(batch) == 200:
                yield batch
                batch = []
        yield batch

    with ThreadPoolExecutor(THREADS) as pool:
        waiting = []
        for batch in batches():
            tally.tried += len(batch)
            waiting.append(pool.submit(try_some, batch))
            # Bodies are large: only a few batches are made ahead.
            while len(waiting) > 2 * THREADS:
                count(waiting.pop(0).result(), rules, tally)
        for one in waiting:
            count(one.result(), rules, tally)


def count(answered: list[Change], rules: list, tally: Tally) -> None:
    for change in answered:
        if is_in_hole(change, rules):
            tally.in_holes += 1
            continue
        start, end = change.span
        around = change.text[max(0, start - 40):start] + "[" + change.text[start:end] + "]" \
            + change.text[end:end + 40]
        tally.survivors.append(f"{change.pointer}: {around!r}")


def label(name: str) -> str:
    """Returns the agent and the version of a run."""
    for recipe in RECIPES:
        slug = recipe.name.replace(", ", "-").replace(" ", "-")
        for program in installed(recipe):
            if name == f"{program.name.replace('@', '-')}-{slug}":
                return f"{recipe.name} {program.version()}"
    return name


def rules_of(loomrec: str, preset: str) -> list[str]:
    done = subprocess.run([loomrec, "rules", preset, "--json"], check=True, capture_output=True)
    return json.loads(done.stdout)["rules"]


def main() -> int:
    parser = argparse.ArgumentParser(prog="tests/agents/mutation.py")
    parser.add_argument("folder", type=Path, help="the folder of tests/agents/run --keep")
    parser.add_argument("runs", nargs="*", help="folders in its requests; all if none is given")
    root = Path(__file__).resolve().parent.parent.parent
    parser.add_argument("--loomrec", default=str(root / "target/debug/loomrec"))
    parser.add_argument("--doc", type=Path, help="put the figures into this file")
    args = parser.parse_args()
    work = args.folder.resolve()
    names = args.runs or sorted(folder.name for folder in (work / "requests").iterdir()
                                if (folder / "requests.jsonl").exists())
    table = "| agent | requests | changes tried | answered, within holes | answered otherwise |\n" \
            "|---|---|---|---|---|\n"
    print(table, end="")
    is_good = bool(names)
    for name in names:
        tally = try_run(work, name, args.loomrec)
        row = f"| {label(name)} | {tally.requests} | {tally.tried} | {tally.in_holes} " \
              f"| {len(tally.survivors)} |"
        print(row, *tally.survivors, sep="\n", flush=True)
        table += f"{row}\n"
        is_good = is_good and tally.requests > 0 and not tally.survivors
    if args.doc:
        write_table(args.doc, table, "mutation")
    return int(not is_good)


if __name__ == "__main__":
    sys.exit(main())
