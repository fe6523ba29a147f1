"""Records each framework's program in one place, and replays it strictly in another.

A relay between the program and loomrec keeps the answers that the program receives. They must
be the same bytes in both runs. See `run` for how to call it.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
from place import Place  # noqa: E402
from recipes import ANTHROPIC, GEMINI, OPENAI, Program, Recipe, read_programs  # noqa: E402
from scripted_model import RESULT, WRONG, ScriptedModel  # noqa: E402
from table import write_table  # noqa: E402

PROMPT = "What is the weather in Oslo and in Bergen?"
CHANGED = "What is the weather in Oslo and in Bergen today?"
CHANGED_RESULT = "degrees, heavy rain"
#: What some programs need in both runs: no calls besides those to the model.
VARIABLES = {
    "crewai": {"CREWAI_DISABLE_TELEMETRY": "true", "CREWAI_TRACING_ENABLED": "false"},
    "openai-agents": {"OPENAI_AGENTS_DISABLE_TRACING": "1"},
    "openai-agents-js": {"OPENAI_AGENTS_DISABLE_TRACING": "1"},
}
#: These sleep, and Python's `time.sleep` fails under libfaketime. They get another time zone.
NO_FAKETIME = {"instructor"}
#: What a replay may go by besides the requests: all these must be empty.
RULES = ["ignore", "ignore_headers", "identity_headers", "normalize", "credential_params", "redact",
         "repeat", "faults", "unbound", "unchecked", "by_messages", "script", "set_aside"]
HEADER = """\
| program | version | calls | replayed elsewhere | bytes of the answers | changed word missed | changed tool result missed |
|---|---|---|---|---|---|---|
"""
PROGRAMS = read_programs(HERE / "programs.txt")


@dataclass
class Outcome:
    """What one run of loomrec left."""

    code: int
    output: str
    receipt: dict
    answers: list[dict]

    def missed(self, served: int) -> str:
        """Returns `yes` if loomrec served this many calls, then missed one, and so failed."""
        is_right = self.code == 1 and self.receipt.get("verdict") == "failed" \
            and self.receipt["missed"] >= 1 and self.receipt["served"] == served
        counts = {name: self.receipt.get(name) for name in ("verdict", "served", "missed")}
        return "yes" if is_right else f"NO: exit {self.code}, {counts}"


@dataclass
class Row:
    """A row of the table."""

    program: Program
    calls: str = "-"
    replayed: str = "-"
    bytes: str = "-"
    needed: str = "-"
    missed: str = "-"
    result_missed: str = "-"

    def is_good(self) -> bool:
        cells = (self.replayed, self.bytes[:5], self.needed, self.missed)
        return self.calls[:1].isdigit() and cells == ("yes", "equal", "none", "yes") \
            and self.result_missed in ("yes", "-")

    def is_skipped(self) -> bool:
        return self.calls.startswith("not run")

    def markdown(self) -> str:
        # A replay that needed rules or values of the run is no plain one.
        replayed = self.replayed if self.needed in ("none", "-") else self.needed
        cells = [self.program.name, self.program.version(), self.calls, replayed, self.bytes,
                 self.missed, self.result_missed]
        return f"| {' | '.join(cells)} |"


class FrameworkRun:
    """The runs of one program."""

    def __init__(self, program: Program, work: Path, args: argparse.Namespace):
        self.program, self.loomrec = program, args.loomrec
        self.packages = args.programs / program.name
        is_node = program.registry == "npm"
        self.source = HERE / "programs" / f"{program.name}{'.mjs' if is_node else '.py'}"
        self.command = ["node", "program.mjs"] if is_node else ["python", "program.py"]
        self.folder = work / program.name
        self.folder.mkdir(parents=True, exist_ok=True)
        self.recording = self.folder / "recording.json"
        clock = "TZ" if program.name in NO_FAKETIME else "faketime"
        self.recipe = Recipe(program.name, "", variables=VARIABLES.get(program.name, {}), clock=clock)
        self.recorded = Place(self.folder / "home/alice/app", self.folder / "home/alice", "alice")
        self.replayed = Place(self.folder / "build/12/deeper/app", self.folder / "ci", "runner", 3,
                              is_other_machine=True)

    def record(self) -> tuple[Outcome, ScriptedModel]:
        self.recording.unlink(missing_ok=True)
        model = ScriptedModel()
        try:
            arguments = ["record", "--upstream", model.url]
            keys = {**ANTHROPIC, **OPENAI, **GEMINI}
            return self.loom("record", arguments, self.recorded, PROMPT, keys), model
        finally:
            model.stop()

    def replay(self, name: str, prompt: str = PROMPT, result: str = RESULT) -> Outcome:
        return self.loom(name, ["replay", "--strict"], self.replayed, prompt, {}, result)

    def loom(self, name, arguments, place: Place, prompt, keys, result: str = RESULT) -> Outcome:
        """Runs the program behind loomrec and the relay."""
        place.prepare()
        text = self.source.read_text().replace(RESULT, result)
        (place.cwd / f"program{self.source.suffix}").write_text(text)
        (place.cwd / "node_modules").symlink_to(self.packages / "node_modules")
        receipt, answers = self.folder / f"{name}.receipt.json", self.folder / f"{name}.answers.json"
        for file in (receipt, answers):
            file.unlink(missing_ok=True)
        command = [*place.machine(), *place.shift(self.recipe), self.loomrec, *arguments,
                   "-r", str(self.recording), "--receipt", str(receipt), "--",
                   sys.executable, str(HERE / "relay.py"), str(answers), *self.command]
        environment = {**place.environment(self.recipe, self.packages), **keys, "PROMPT": prompt}
        code, output = run_to_end(command, place.cwd, environment, self.folder / f"{name}.log")
        return Outcome(code, output, read_json(receipt, {}), read_json(answers, []))


def run_to_end(command, cwd: Path, environment: dict, log: Path) -> tuple[int, str]:
    """Returns the exit code and standard output; both streams go into the log."""
    try:
        done = subprocess.run(command, cwd=cwd, env=environment, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, errors="replace", timeout=300,
                              start_new_session=True)
    except subprocess.TimeoutExpired:
        log.write_text("timed out\n")
        return 124, ""
    log.write_text(f"exit {done.returncode}\n{done.stdout}\n----- stderr\n{done.stderr}")
    return done.returncode, done.stdout


def read_json(file: Path, default):
    return json.loads(file.read_text()) if file.exists() else default


def try_program(run: FrameworkRun) -> Row:
    """Records, replays elsewhere, and replays with a changed word and a changed tool result."""
    row = Row(run.program)
    recorded, model = run.record()
    for number, body in enumerate(model.bodies):
        (run.folder / f"request-{number}.json").write_bytes(body)
    row.calls = describe_calls(recorded, model)
    if not row.calls[:1].isdigit():
        return row
    shutil.rmtree(run.recorded.home)
    replayed = run.replay("replay")
    is_same = replayed.code == 0 and replayed.output == recorded.output \
        and replayed.receipt.get("served") == len(model.calls)
    row.replayed = "yes" if is_same else f"NO: exit {replayed.code}"
    row.bytes = compare_answers(recorded.answers, replayed.answers, len(model.calls))
    row.needed = needed_values(replayed.receipt)
    row.missed = run.replay("changed-word", CHANGED).missed(served=0)
    if RESULT in run.source.read_text():
        row.result_missed = run.replay("changed-result", result=CHANGED_RESULT).missed(served=1)
    return row


def describe_calls(recorded: Outcome, model: ScriptedModel) -> str:
    """Returns the calls of a good recording and their API; otherwise what was wrong."""
    calls, kept = len(model.calls), recorded.receipt.get("recorded")
    last = model.bodies[-1].decode() if model.bodies else ""
    is_loop = calls > 1 and (RESULT in last or WRONG in last)
    if recorded.code or kept != calls or not is_loop or not recorded.output.strip():
        return f"NO: exit {recorded.code}, {calls} calls, {kept} recorded, tool loop {is_loop}"
    path = model.calls[-1].split()[1]
    is_streamed = "stream" in path or json.loads(last).get("stream")
    api = {"messages": "Messages", "completions": "chat", "responses": "Responses"}
    name = api.get(path.rpartition("/")[2], "Gemini")
    return f"{calls}, {name}{', streamed' if is_streamed else ''}"


def compare_answers(recorded: list[dict], replayed: list[dict], calls: int) -> str:
    if len(recorded) != calls or any(answer["bytes"] == 0 for answer in recorded):
        return f"NO: the relay saw {len(recorded)} of {calls} answers"
    if recorded != replayed:
        return "NO: they differ"
    return f"equal, {sum(answer['bytes'] for answer in recorded)}"


def needed_values(receipt: dict) -> str:
    """Returns what the replay went by besides the recorded requests."""
    force, bound = receipt.get("in_force") or {}, receipt.get("bound") or {}
    if set(RULES) - set(force) or "calls" not in bound:
        return "NO: the receipt does not say"
    needed = [rule for rule in RULES if not is_empty(force[rule])]
    needed += [f"{bound['calls']} calls bound"] if bound["calls"] else []
    return "none" if not needed else f"NO: {', '.join(needed)}"


def is_empty(value) -> bool:
    """Whether a value of the receipt is zero or empty, or an object of such values."""
    return all(map(is_empty, value.values())) if isinstance(value, dict) else not value


def try_all(args: argparse.Namespace, work: Path) -> list[Row]:
    programs = [program for program in PROGRAMS
                if not args.names or program.name in args.names]

    def try_one(program: Program) -> Row:
        reason = args.programs / program.name / "not-installed"
        if reason.exists():
            row = Row(program, f"not run: {reason.read_text().strip()}")
        else:
            row = try_program(FrameworkRun(program, work, args))
        print(row.markdown(), flush=True)
        return row

    with ThreadPoolExecutor(args.jobs) as pool:
        return list(pool.map(try_one, programs))


def main() -> int:
    parser = argparse.ArgumentParser(prog="tests/agents/frameworks/run")
    parser.add_argument("names", nargs="*", metavar="PROGRAM")
    parser.add_argument("--keep", type=Path, help="work in this folder, and keep it")
    parser.add_argument("--table", type=Path, help="write the table into this file")
    parser.add_argument("--jobs", type=int, default=2, help="programs at a time")
    parser.add_argument("--programs", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--loomrec", required=True, help=argparse.SUPPRESS)
    args = parser.parse_args()
    args.programs = args.programs.resolve()
    unknown = set(args.names) - {program.name for program in PROGRAMS}
    if unknown:
        parser.error(f"unknown programs: {', '.join(sorted(unknown))}")
    work = (args.keep or Path(tempfile.mkdtemp(prefix="work-", dir=args.programs))).resolve()
    print(HEADER, end="")
    rows = try_all(args, work)
    if args.table:
        table = HEADER + "".join(f"{row.markdown()}\n" for row in rows)
        write_table(args.table, table, "frameworks")
    if args.keep is None:
        shutil.rmtree(work, ignore_errors=True)
    passed, skipped = sum(row.is_good() for row in rows), sum(row.is_skipped() for row in rows)
    print(f"{passed} passed, {len(rows) - passed - skipped} failed, {skipped} skipped")
    # A run of nothing tests nothing.
    return int(passed + skipped < len(rows) or passed == 0)


if __name__ == "__main__":
    sys.exit(main())
