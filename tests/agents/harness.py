"""Records each coding agent in one place, and replays it strictly in another.

Place A is a directory in HOME; place B has another HOME, elsewhere, another user and day.
Between the two the upstream is stopped. See `run` for how to call it, and `recipes.py` for the agents.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from pathlib import Path

from edit_recording import change_argument
from recipes import RECIPES, Recipe, versions
from upstream import CONTENT, Upstream

PROMPT = "Please write the file hello.txt in the current directory."
CHANGED = "Please write the file hello.txt in the present directory."
CHANGED_CONTENT = CONTENT.replace("hello", "hallo")
FAKETIME = shutil.which("faketime")
OTHER_HOST = ["unshare", "--uts", "sh", "-c"]
IS_OTHER_MACHINE = subprocess.run(
    [*OTHER_HOST, "hostname ci-7 && setarch --uname-2.6 true"], capture_output=True).returncode == 0


def another_day() -> str:
    """Returns a time zone in which it is not the same day as in UTC."""
    is_late = datetime.now(timezone.utc).hour >= 12
    return "Pacific/Kiritimati" if is_late else "Etc/GMT+12"


@dataclass
class Place:
    """Where a run happens."""

    cwd: Path
    home: Path
    user: str
    days: int
    readme: str = "# A repository\n"
    committed: str = "2026-01-01"

    def prepare(self, recipe: Recipe, recording: Path | None) -> None:
        for folder in (self.home, self.cwd):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
        (self.cwd / "README.md").write_text(self.readme)
        git = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org"]
        moment = f"{self.committed}T00:00:00Z"
        date = {"GIT_AUTHOR_DATE": moment, "GIT_COMMITTER_DATE": moment}
        def commit(message: str) -> None:
            for arguments in (["add", "."], ["commit", "-q", "-m", message]):
                subprocess.run(git + arguments, cwd=self.cwd, check=True,
                               env={**os.environ, **date, "HOME": str(self.home)})

        if recipe.ignore_file:
            (self.cwd / recipe.ignore_file).write_text("recordings/\n")
        subprocess.run(git + ["init", "-q", "-b", "main"], cwd=self.cwd, check=True)
        commit("init")
        if recording:
            shutil.copytree(recording.parent, self.cwd / "recordings")
            commit("Add the recording")

    def environment(self, recipe: Recipe, programs: Path) -> dict[str, str]:
        node = str(Path(shutil.which("node")).resolve().parent)
        bins = f"{programs}/node_modules/.bin:{programs}/venv/bin"
        environment = {
            "PATH": f"{bins}:{node}:/usr/local/bin:/usr/bin:/bin", "HOME": str(self.home),
            "USER": self.user, "LOGNAME": self.user, "SHELL": "/bin/bash", "TERM": "dumb",
            "LANG": "C.UTF-8", "GIT_AUTHOR_NAME": "t", "GIT_COMMITTER_NAME": "t",
            "GIT_AUTHOR_EMAIL": "t@example.org", "GIT_COMMITTER_EMAIL": "t@example.org",
            **{name: text.format(home=self.home) for name, text in recipe.variables.items()},
        }
        if self.days and FAKETIME and recipe.takes_faketime:
            environment["FAKETIME_DONT_FAKE_MONOTONIC"] = "1"
        elif self.days:
            environment["TZ"] = another_day()
        return environment

    def shift(self, recipe: Recipe) -> list[str]:
        """Returns the command that shifts the clock of what follows."""
        is_faked = self.days and FAKETIME and recipe.takes_faketime
        return [FAKETIME, "-f", f"+{self.days}d"] if is_faked else []

    def machine(self) -> list[str]:
        """Returns the command that gives what follows another host name and kernel release."""
        if not self.days or not IS_OTHER_MACHINE:
            return []
        return [*OTHER_HOST, 'hostname ci-7 && exec setarch --uname-2.6 "$@"', "sh"]


@dataclass
class Outcome:
    """What became of one run of loomrec."""

    code: int
    output: str
    file: str | None

    def missed(self, served: int = 0) -> str:
        """Returns `yes` if loomrec missed a call, and so failed, after it served some."""
        misses = re.search(r"[^0-9]([1-9][0-9]*) missed", self.output)
        serves = re.search(r"failed: ([0-9]+) served", self.output)
        is_right = self.code == 1 and misses and serves and int(serves[1]) >= served
        return "yes" if is_right else f"NO: exit {self.code}"


HEADER = """\
| program | version | recorded | replayed elsewhere | values of the run | clock by | changed word missed | changed tool result missed | changed tool argument missed |
|---|---|---|---|---|---|---|---|---|
"""


@dataclass
class Row:
    """A row of the table."""

    name: str
    recorded: str = "-"
    replayed: str = "-"
    bound: str = "-"
    clock: str = "-"
    missed: str = "-"
    result_missed: str = "-"
    argument_missed: str = "-"

    def is_good(self) -> bool:
        checks = (self.recorded[:3], self.replayed, self.missed, self.argument_missed)
        return checks == ("yes",) * 4 and self.result_missed in ("yes", "-")

    def markdown(self) -> str:
        cells = [self.name, versions()[self.name], self.recorded, self.replayed, self.bound,
                 self.clock, self.missed, self.result_missed, self.argument_missed]
        return f"| {' | '.join(cells)} |"


class AgentRun:
    """The runs of one agent."""

    def __init__(self, recipe: Recipe, work: Path, args: argparse.Namespace):
        self.recipe, self.programs = recipe, args.programs / recipe.name
        self.loomrec, self.uses_shell = args.loomrec, args.tool == "shell"
        self.recording = work / "recordings" / recipe.name / f"{recipe.name}.json"
        self.is_in_tree = args.in_tree
        self.recorded = Place(work / "home/alice/app", work / "home/alice", "alice", 0)
        self.replayed = Place(work / "build/1234/deeper/checkout", work / "ci-home", "runner", 3)
        self.log = work / f"{recipe.name}.log"

    def record(self, place: Place | None = None, prompt: str = PROMPT) -> tuple[Outcome, Upstream]:
        place = place or self.recorded
        shutil.rmtree(self.recording.parent, ignore_errors=True)
        self.recording.parent.mkdir(parents=True)
        upstream = Upstream(str(place.cwd), self.uses_shell)
        arguments = ["record", "-r", self.file(), "--upstream", upstream.url]
        try:
            outcome = self.loom(arguments, place, prompt, self.recipe.keys)
            made = place.cwd / "recordings" / self.recording.name
            if made.exists():
                shutil.copy(made, self.recording)
            return outcome, upstream
        finally:
            upstream.stop()

    def file(self) -> str:
        """Returns the recording as it is named on the command line."""
        name = self.recording.name
        return f"recordings/{name}" if self.is_in_tree else str(self.recording)

    def keep_requests(self, upstream: Upstream) -> None:
        """Keeps what the upstream received, for a look at what an agent sends."""
        folder = self.log.parent / "requests" / self.recipe.name
        folder.mkdir(parents=True, exist_ok=True)
        for number, body in enumerate(upstream.bodies):
            (folder / f"{number}.json").write_bytes(body)
        with self.log.open("a") as log:
            log.write("\n".join(upstream.calls) + "\n")

    def replay(self, prompt: str = PROMPT, place: Place | None = None) -> Outcome:
        arguments = ["replay", "--strict", "-r", self.file()]
        return self.loom(arguments, place or self.replayed, prompt, {})

    def without_rules(self, place: Place, name: str, prompt: str = PROMPT) -> Path:
        """Records in this place. Returns a copy of the recording without the rules of the preset,
        whose variables and arguments some agents need."""
        outcome, _ = self.record(place, prompt)
        if outcome.code or not self.recording.exists():
            raise RuntimeError(f"record: exit {outcome.code}")
        recording = json.loads(self.recording.read_text())
        recording["_loomrec"]["identity"].pop("normalize", None)
        kept = self.log.parent / "noise" / f"{self.recipe.name}-{name}.json"
        kept.parent.mkdir(exist_ok=True)
        kept.write_text(json.dumps(recording))
        return kept

    def noise(self, one: Path, other: Path, *more: str) -> tuple[int, str]:
        """Returns what `loomrec noise` says of two recordings."""
        done = subprocess.run([self.loomrec, "noise", one, other, *more], text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        with self.log.open("a") as log:
            log.write(f"\n===== noise {' '.join(more)}: exit {done.returncode}\n{done.stdout}\n")
        return done.returncode, done.stdout

    def loom(self, arguments, place: Place, prompt: str, keys: dict) -> Outcome:
        is_committed = self.is_in_tree and arguments[0] == "replay"
        place.prepare(self.recipe, self.recording if is_committed else None)
        environment = {**place.environment(self.recipe, self.programs), **keys, "PROMPT": prompt}
        command = [word.replace("$PROMPT", prompt) for word in shlex.split(self.recipe.command)]
        if self.recipe.setup:
            command = ["sh", "-c", f"{self.recipe.setup} && {self.recipe.command}"]
        try:
            done = subprocess.run(
                [*place.machine(), *place.shift(self.recipe), self.loomrec, *arguments, "--", *command],
                cwd=place.cwd,
                env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT, timeout=120, text=True, errors="replace",
                start_new_session=True)
            code, output = done.returncode, done.stdout
        except subprocess.TimeoutExpired as late:
            code, output = 124, (late.stdout or b"").decode(errors="replace") + "\n(timed out)"
        file = place.cwd / "hello.txt"
        with self.log.open("a") as log:
            log.write(f"\n===== {arguments[0]} in {place.cwd}: exit {code}\n{output}\n")
        return Outcome(code, output, file.read_text() if file.exists() else None)


def miss_argument(run: AgentRun, calls: int) -> str:
    """Returns `yes` if loomrec misses the call whose history has another tool argument.

    The argument is edited in a copy of the recording, so that the agent itself sends it.
    """
    changed = copy.copy(run)
    changed.recording = run.log.parent / "edited" / run.recipe.name / run.recording.name
    try:
        change_argument(run.recording, changed.recording, CONTENT.strip(), CHANGED_CONTENT.strip())
    except ValueError as problem:
        return f"NO: {problem}"
    verified = subprocess.run([run.loomrec, "verify", changed.recording], capture_output=True, text=True)
    if verified.returncode:
        return f"NO: verify: {verified.stdout}{verified.stderr}".replace("\n", " ")
    outcome = changed.replay()
    if f"failed: {calls - 1} served" not in outcome.output:
        return f"NO: exit {outcome.code}, not {calls - 1} served"
    if not re.search(r"^ *now .*hallo from", outcome.output, re.MULTILINE):
        return "NO: the miss does not name the argument"
    return outcome.missed()


def try_agent(run: AgentRun) -> Row:
    """Records, replays elsewhere, and replays with a changed word, result and argument."""
    row = Row(run.recipe.name)
    run.log.unlink(missing_ok=True)
    recorded, upstream = run.record()
    run.keep_requests(upstream)
    wrote = recorded.file is not None and recorded.file.strip() == CONTENT.strip()
    row.recorded = f"yes, {len(upstream.calls)} calls" if recorded.code == 0 and wrote \
        else f"NO: exit {recorded.code}, hello.txt {recorded.file!r}"
    if not run.recording.exists():
        return row
    shutil.rmtree(run.recorded.cwd)
    replayed = run.replay()
    is_stray = (run.recorded.cwd / "hello.txt").exists()
    is_same = replayed.file == recorded.file and not is_stray
    row.replayed = "yes" if replayed.code == 0 and is_same else \
        f"NO: exit {replayed.code}, hello.txt {replayed.file!r}, stray file {is_stray}"
    bound = re.search(r"with this run's ([^·\n]*?) ·", replayed.output)
    row.bound = bound[1] if bound else "none"
    row.clock = "faketime" if run.replayed.shift(run.recipe) else "TZ"
    row.missed = run.replay(CHANGED).missed()
    if run.uses_shell and run.recipe.name != "aider":
        # The command of the tool prints this file.
        elsewhere = replace(run.replayed, readme="# Another repository\n")
        row.result_missed = run.replay(PROMPT, elsewhere).missed(served=1)
    row.argument_missed = miss_argument(run, len(upstream.calls))
    return row


def try_noise(run: AgentRun) -> str:
    """Records an agent in two places, and lets loomrec find the rules. Returns a row."""
    run.log.unlink(missing_ok=True)
    try:
        one = run.without_rules(run.recorded, "a")
        # The commit has another hash there.
        other = run.without_rules(replace(run.replayed, committed="2026-01-02"), "b")
        changed = run.without_rules(run.replayed, "c", CHANGED)
    except RuntimeError as failed:
        return f"| {run.recipe.name} | NO: {failed} | - | - | - |"
    refuses = {0: "NO", 1: "yes"}.get(run.noise(one, changed)[0], "NO")
    code, text = run.noise(one, other, "--apply")
    rules = len(re.findall("^  --normalize", text, re.M))
    again = run.noise(one, other)[0]
    explained = "yes" if code == 0 else f"NO: exit {code}"
    return f"| {run.recipe.name} | {explained} | {rules} | {'yes' if again == 0 else 'NO'} | {refuses} |"


NOISE_HEADER = """\
| program | explained | rules | equal with them | changed word refused |
|---|---|---|---|---|
"""


def try_all(args: argparse.Namespace, work: Path) -> list[Row]:
    rows = []
    for recipe in RECIPES:
        if args.agents and recipe.name not in args.agents:
            continue
        reason = args.programs / recipe.name / "not-installed"
        if reason.exists():
            rows.append(Row(recipe.name, f"not run: {reason.read_text().strip()}"))
        else:
            rows.append(try_agent(AgentRun(recipe, work, args)))
        print(rows[-1].markdown(), flush=True)
    return rows


def try_and_report(args: argparse.Namespace, work: Path) -> bool:
    """Tries all agents, and prints the table. Returns whether some passed and none failed."""
    print(HEADER, end="")
    rows = try_all(args, work)
    if args.table:
        write_table(args.table, HEADER + "".join(f"{row.markdown()}\n" for row in rows))
    passed = sum(row.is_good() for row in rows)
    skipped = sum(row.recorded.startswith("not run") for row in rows)
    print(f"{passed} passed, {len(rows) - passed - skipped} failed, {skipped} skipped")
    # A run of nothing tests nothing.
    return passed > 0 and passed + skipped == len(rows)


def try_noise_of_all(args: argparse.Namespace, work: Path) -> bool:
    """Compares two recordings of each agent. Returns whether some are explained and none is not."""
    print(NOISE_HEADER, end="")
    lines = []
    for recipe in RECIPES:
        if args.agents and recipe.name not in args.agents:
            continue
        if (args.programs / recipe.name / "not-installed").exists():
            print(f"| {recipe.name} | not run | - | - | - |", flush=True)
        else:
            lines.append(try_noise(AgentRun(recipe, work, args)))
            print(lines[-1], flush=True)
    return bool(lines) and not any("NO" in line for line in lines)


def write_table(file: Path, table: str, name: str = "table") -> None:
    """Replaces what is between the two markers of this name in a file."""
    begin, end = f"<!-- {name}: begin -->\n", f"<!-- {name}: end -->\n"
    before, _, rest = file.read_text().partition(begin)
    _, _, after = rest.partition(end)
    file.write_text(f"{before}{begin}{table}{end}{after}")


def parent_of_homes(programs: Path) -> Path:
    """Returns the folder for the runs: that of the programs, unless others may write to a folder
    above it (a clone in /tmp). Codex and Gemini CLI refuse settings below such a folder."""
    others_may_write = any(folder.stat().st_mode & 0o022 for folder in programs.resolve().parents)
    if not others_may_write:
        return programs
    folder = Path.home() / ".cache" / "loomrec-agents"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def main() -> int:
    parser = argparse.ArgumentParser(prog="tests/agents/run")
    parser.add_argument("agents", nargs="*", metavar="AGENT")
    parser.add_argument("--keep", help="work in this folder, and keep it")
    parser.add_argument("--table", type=Path, help="write the table into this file")
    parser.add_argument("--tool", choices=["write", "shell"], default="write")
    parser.add_argument("--noise", action="store_true",
                        help="record each agent twice, and let loomrec noise find the rules")
    parser.add_argument("--out-of-tree", dest="in_tree", action="store_false",
                        help="keep the recording outside the repository")
    parser.add_argument("--programs", type=Path, required=True, help=argparse.SUPPRESS)
    parser.add_argument("--loomrec", required=True, help=argparse.SUPPRESS)
    args = parser.parse_args()
    unknown = set(args.agents) - {recipe.name for recipe in RECIPES}
    if unknown:
        parser.error(f"unknown agents: {', '.join(sorted(unknown))}")
    work = Path(args.keep or tempfile.mkdtemp(prefix="work-", dir=parent_of_homes(args.programs)))
    is_good = try_noise_of_all(args, work) if args.noise else try_and_report(args, work)
    if args.keep is None:
        shutil.rmtree(work, ignore_errors=True)
    return int(not is_good)


if __name__ == "__main__":
    sys.exit(main())
