"""The runs of one agent: one recording, and replays of it in all conditions."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import terminal
from conditions import CLONE, Condition
from edit_recording import change_argument
from place import SETTINGS, Place
from plans import CONTENT, WORD, Script
from recipes import Recipe
from upstream import Upstream

PROMPT = "Please write the file hello.txt in the current directory."
CHANGED = "Please write the file hello.txt in the present directory."
CHANGED_CONTENT = CONTENT.replace("hello", "hallo")
CHANGED_WORD = "warp"
#: In seconds. A run of 25 tool calls takes under one minute.
LONGEST_RUN = 300


@dataclass
class Outcome:
    """What became of one run of loomrec."""

    code: int
    output: str
    #: hello.txt in the working directory.
    file: str | None
    receipt: dict = field(default_factory=dict)

    def count(self, name: str) -> int:
        value = self.receipt.get(name)
        return value if isinstance(value, int) else len(value or [])

    def reason(self, base: Path) -> str:
        """Returns why a replay is not green: the first difference of its first miss, or the first
        complaint. `base` is the folder of the runs, which is left out."""
        for mismatch in self.receipt.get("mismatches") or []:
            for difference in (mismatch.get("nearest") or {}).get("differences") or []:
                texts = [as_text(difference.get(name), base) for name in ("recorded", "now")]
                return f"`{difference.get('pointer')}`: {from_difference(*texts)}"
            return f"missed: {shorten(as_text(mismatch.get('message'), base))}"
        complaints = self.receipt.get("complaints") or [self.output.strip()[-200:]]
        text = "; ".join(as_text(complaint, base) for complaint in complaints)
        return f"exit code {self.code}: {shorten(text)}"

    def is_miss(self, served: int) -> bool:
        """Whether loomrec missed a call, and so failed, after it had served some."""
        is_failed = self.code != 0 and self.receipt.get("verdict") == "failed"
        return is_failed and self.count("missed") > 0 and self.count("served") >= served


def as_text(value, base: Path) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return text.replace(str(base / "now"), "").replace(str(base).replace("/", "-"), "")


def from_difference(recorded: str, now: str) -> str:
    """Returns two texts from shortly before their first different letter."""
    same = len(os.path.commonprefix([recorded, now]))
    start = max(0, same - 30)
    texts = [("…" if start else "") + text[start:] for text in (recorded, now)]
    return f"{shorten(texts[0])}, now {shorten(texts[1])}"


def shorten(text: str) -> str:
    """Returns the beginning of a text, as code on one line."""
    plain = text.replace("`", "'").replace("|", "¦").replace("\n", " ⏎ ").replace("\\n", " ⏎ ")
    plain = " ".join(plain.split())
    return f"`{plain}`" if len(plain) <= 100 else f"`{plain[:100]}…`"


class AgentRun:
    """The runs of one agent in one version."""

    def __init__(self, recipe: Recipe, programs: Path, work: Path, loomrec: str, script: Script):
        self.recipe, self.programs, self.loomrec = recipe, programs, loomrec
        self.script = recipe.script or script
        slug = recipe.name.replace(", ", "-").replace(" ", "-")
        self.base = work / f"{programs.name.replace('@', '-')}-{slug}"
        self.log = work / f"{self.base.name}.log"
        #: Each MCP server adds a line to it when it starts.
        self.starts = self.base / "starts"
        self.recorded_place: Place | None = None
        self.calls = self.posts = 0
        self.upstream: Upstream | None = None
        if recipe.source:
            source = Path(__file__).parent / "programs" / recipe.source
            shutil.copy(source, programs / recipe.source)

    def place(self, is_inside: bool = True) -> Place:
        """Returns where the agent is recorded: a directory in HOME, or outside of it."""
        home = self.base / "now/home/alice"
        return Place(home / "src/app" if is_inside else self.base / "now/srv/app", home, "alice")

    def record(self, place: Place, prompt: str = PROMPT) -> Outcome:
        """Records in this place, and keeps a copy of all files of the run."""
        shutil.rmtree(self.base, ignore_errors=True)
        place.prepare()
        directory = str(place.cwd) if self.recipe.has_full_paths else ""
        upstream = Upstream(directory, self.script, self.recipe.has_sockets)
        try:
            outcome = self.loom(["record", *self.record_flags(upstream.url)], place, prompt)
        finally:
            upstream.stop()
        self.recorded_place, self.upstream = place, upstream
        self.calls = outcome.count("recorded")
        # Some agents ask whether the address answers (HEAD), which needs no recorded answer.
        self.posts = sum(call.startswith("POST") for call in upstream.calls)
        copy_folder(self.base / "now", self.base / "recorded")
        return outcome

    def record_flags(self, url: str) -> list[str]:
        """Returns the flags of `record` with the upstream at this address."""
        return ["--upstream", url, *self.recipe.flags]

    def replay_flags(self) -> list[str]:
        """Returns the flags of `replay`, except `--strict`."""
        return []

    def network(self, command: str) -> list[str]:
        """Returns the command that gives `record` or `replay` a network of its own."""
        return []

    def recording(self) -> Path:
        return self.base / "recorded" / self.recorded_place.cwd.relative_to(self.base / "now") \
            / "recordings/agent.json"

    def replay(self, condition: Condition, prompt: str = PROMPT, edit=None) -> tuple[Outcome, Place]:
        """Replays with the files of the recorded run, changed as the condition says, and by
        `edit`, which gets the working directory."""
        shutil.rmtree(self.base / "now")
        copy_folder(self.base / "recorded", self.base / "now")
        place = condition.apply(self.place(condition.is_inside), self.base / "now")
        if edit:
            edit(place.cwd)
        return self.loom(["replay", "--strict", *self.replay_flags()], place, prompt), place

    def why_red(self, condition: Condition, recorded: Outcome) -> str:
        """Replays in this condition. Returns why that was not green; nothing if it was."""
        outcome, place = self.replay(condition)
        if outcome.code != 0 or outcome.receipt.get("verdict") != "ok":
            return outcome.reason(self.base)
        if outcome.count("served") < self.posts:
            return f"{outcome.count('served')} of {self.posts} calls served"
        if self.count_starts() != self.recipe.servers:
            return f"{self.count_starts()} servers started, {self.recipe.servers} recorded"
        if outcome.file != recorded.file:
            return f"hello.txt has {outcome.file!r}, not {recorded.file!r}"
        if place.cwd != self.recorded_place.cwd and (self.recorded_place.cwd / "hello.txt").exists():
            return "hello.txt was written into the recorded directory"
        return ""

    def why_not_missed(self, change: str) -> str:
        """Replays with a change in a fresh clone. Returns why that was no miss; nothing if it was."""
        if change == "word":
            outcome, _ = self.replay(CLONE, prompt=CHANGED)
            served = 0
        elif change == "result":
            def edit(cwd: Path) -> None:
                (cwd / "README.md").write_text("# Another repository\n")
            outcome, _ = self.replay(CLONE, edit=edit)
            served = 1
        else:
            return self.why_argument_not_missed()
        if not outcome.is_miss(served):
            return f"exit code {outcome.code}, {outcome.count('served')} served, " \
                   f"{outcome.count('missed')} missed"
        return ""

    def why_argument_not_missed(self) -> str:
        """The argument is edited in the recording, so that the agent itself sends it."""
        problem = ""
        change = (CONTENT.strip(), CHANGED_CONTENT.strip())
        shown = ["hallo from"]
        if self.recipe.servers:
            change, shown = (WORD, CHANGED_WORD), [CHANGED_WORD, "tools/call echo"]

        def edit(cwd: Path) -> None:
            nonlocal problem
            file = cwd / "recordings/agent.json"
            try:
                change_argument(file, file, *change)
            except ValueError as error:
                problem = str(error)
        outcome, _ = self.replay(CLONE, edit=edit)
        if problem:
            return problem
        if not outcome.is_miss(served=1):
            return f"exit code {outcome.code}, {outcome.count('served')} served, " \
                   f"{outcome.count('missed')} missed"
        mismatches = json.dumps(outcome.receipt.get("mismatches"))
        if not all(text in mismatches for text in shown):
            return f"the miss does not name {' and '.join(shown)}"
        if self.count_starts() != self.recipe.servers:
            return f"{self.count_starts()} servers started, {self.recipe.servers} recorded"
        return ""

    def loom(self, arguments: list[str], place: Place, prompt: str) -> Outcome:
        """Runs the agent behind loomrec."""
        keys = self.recipe.keys if arguments[0] == "record" else {}
        environment = {**place.environment(self.recipe, self.programs), **keys, "PROMPT": prompt}
        command = [word.replace("$PROMPT", prompt).replace("$PROGRAM", environment.get("PROGRAM", ""))
                   for word in shlex.split(self.recipe.command)]
        if self.recipe.setup:
            command = ["sh", "-c", f"{self.recipe.setup} && {self.recipe.command}"]
        for file, template in self.recipe.home.items():
            if not (place.home / file).exists():
                self.write_settings(template, place.home / file)
        receipt = self.base / "receipt.json"
        receipt.unlink(missing_ok=True)
        command = [*place.machine(), *place.shift(self.recipe), *self.network(arguments[0]),
                   self.loomrec, *arguments, "-r", "recordings/agent.json", "--receipt",
                   str(receipt), "--", *command]
        if self.recipe.screen:
            steps = [(text, keys.replace("$PROMPT", prompt)) for text, keys in self.recipe.screen]
            code, output = terminal.run(command, place.cwd, environment, steps, LONGEST_RUN / 4)
        else:
            code, output = run_to_end(command, place.cwd, environment)
        file = place.cwd / "hello.txt"
        with self.log.open("a") as log:
            log.write(f"\n===== {arguments[0]} in {place.cwd}: exit {code}\n{output}\n")
        return Outcome(code, output, file.read_text() if file.exists() else None,
                       read_receipt(receipt))


    def write_settings(self, template: str, file: Path) -> None:
        """Writes a file of settings that a user has."""
        text = (SETTINGS / template).read_text()
        servers = self.programs.parent / "mcp-servers"
        for name, value in [("LOOMREC", self.loomrec), ("SERVERS", servers), ("STARTS", self.starts)]:
            text = text.replace(f"@{name}@", str(value))
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def count_starts(self) -> int:
        """Returns how many MCP servers were started since the recorded run began."""
        return len(self.starts.read_text().splitlines()) if self.starts.exists() else 0


def read_receipt(file: Path) -> dict:
    """Returns the receipt; an empty one if the run was ended before it was written."""
    text = file.read_text() if file.exists() else ""
    return json.loads(text) if text.strip() else {}


def run_to_end(command: list[str], cwd: Path, environment: dict) -> tuple[int, str]:
    """Returns the exit code and the output. 124 is a run that was ended for its length."""
    process = subprocess.Popen(command, cwd=cwd, env=environment, stdin=subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               errors="replace", start_new_session=True)
    try:
        output, _ = process.communicate(timeout=LONGEST_RUN)
        return process.returncode, output
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, 9)
        return 124, f"{process.communicate()[0]}\n(ended after {LONGEST_RUN} seconds)"


def copy_folder(source: Path, target: Path) -> None:
    """Copies all files with their times and links."""
    subprocess.run(["cp", "-a", str(source), str(target)], check=True)
