"""A machine that runs loomrec: its folders, its environment, and the processes that it started."""

from __future__ import annotations

import itertools
import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from object_store import REGION, WRITER, Keys
from process import PATIENCE, kill_group
from proxy import Request
from upstream import answer_text

HERE = Path(__file__).parent
CLIENT = [sys.executable, "-S", str(HERE / "client.py")]
LOOMREC = os.environ.get("LOOMREC", str(HERE.parents[1] / "target/debug/loomrec"))
THREE_CALLS = ("--calls", "3")
#: Variables of this run that loomrec must not see.
_OURS = re.compile(r"LOOMREC|AWS_|GOOGLE_|AZURE_|XDG_|PYTEST_|CI$|GITHUB_|"
                   r".*_API_KEY$|.*_BASE_URL$|.*_PROXY$|.*_proxy$")


def calls(label: str = "call", count: int = 3, *more: str, first: int = 0,
          pause: Iterable[int] = ()) -> list[str]:
    """Returns the arguments of a client that makes these calls, and pauses after so many of them."""
    pauses = [word for number in pause for word in ("--pause-after", str(number))]
    return ["--label", label, "--calls", str(count), "--first", str(first), *pauses, *more]


@dataclass
class Outcome:
    """How a run of loomrec ended."""

    code: int
    stdout: str
    stderr: str

    def __post_init__(self) -> None:
        for word in ("panicked", "RUST_BACKTRACE", "Traceback"):
            assert word not in self.stderr, self.stderr

    @property
    def error_lines(self) -> list[str]:
        return [line for line in self.stderr.splitlines() if line.strip()]


class Machine:
    """Folders and an environment for loomrec. Several recorders can run on it at the same time."""

    def __init__(self, folder: Path, endpoint: str, upstream_url: str, keys: Keys | None = WRITER) -> None:
        self.folder = folder
        self.cache = folder / "cache"
        self.state = folder / "state"
        self.work = folder / "work"
        self.work.mkdir(parents=True)
        self.upstream_url = upstream_url
        self.environment = {name: value for name, value in os.environ.items() if not _OURS.match(name)}
        self.environment |= {"LOOMREC_CACHE": str(self.cache), "LOOMREC_STATE": str(self.state), "NO_COLOR": "1",
                             "HOME": str(folder), "AWS_ENDPOINT_URL": endpoint, "AWS_ALLOW_HTTP": "true",
                             "AWS_REGION": REGION, "OPENAI_API_KEY": "key-of-the-program",
                             # Where EC2 gives its roles: nowhere, so that no test leaves this machine.
                             "AWS_METADATA_ENDPOINT": "http://127.0.0.1:1"}
        self.identify(keys)
        self._started: list[Running] = []
        self._numbers = itertools.count(1)  # several threads may start recorders

    def identify(self, keys: Keys | None) -> None:
        """Sets the credentials of the store, or removes them."""
        for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
            self.environment.pop(name, None)
        if keys is not None:
            self.environment |= {"AWS_ACCESS_KEY_ID": keys.access, "AWS_SECRET_ACCESS_KEY": keys.secret}

    def run(self, *arguments: str | Path, **variables: str) -> Outcome:
        """Runs loomrec to its end."""
        return self.start(*arguments, **variables).wait()

    def start(self, *arguments: str | Path, **variables: str) -> Running:
        """Starts loomrec in a process group of its own."""
        running = Running([LOOMREC, *map(str, arguments)], self.work, {**self.environment, **variables})
        self._started.append(running)
        return running

    def record(self, url: str, *flags: str, client: Iterable[str] = THREE_CALLS, **variables: str) -> Outcome:
        """Records the calls of a client to their end."""
        return self.start_recorder(url, *flags, client=client, **variables).wait()

    def start_recorder(self, url: str, *flags: str, client: Iterable[str] = THREE_CALLS,
                       **variables: str) -> Running:
        """Starts a recorder. What its client gets is in the `acks` of the result."""
        acks = self.folder / f"acks-{next(self._numbers)}"
        running = self.start("record", "-r", url, "--upstream", f"openai={self.upstream_url}", *flags, "--",
                             *CLIENT, "--acks", acks, *client, **variables)
        running.acks_file = acks
        return running

    def replay(self, name: str | Path, *flags: str, client: Iterable[str] = THREE_CALLS,
               **variables: str) -> Replayed:
        """Replays strictly, with a client that leaves a marker when it starts."""
        number = next(self._numbers)
        acks, receipt, marker = (self.folder / f"{what}-{number}" for what in ("acks", "receipt", "marker"))
        outcome = self.run("replay", "--strict", "-r", name, "--receipt", receipt, *flags, "--",
                           *CLIENT, "--acks", acks, "--marker", marker, *client, **variables)
        remote = json.loads(receipt.read_bytes()).get("remote", []) if receipt.exists() else []
        return Replayed(outcome.code, outcome.stdout, outcome.stderr, read_acks(acks), marker.exists(), remote)

    def pull(self, name: str | Path, **variables: str) -> dict:
        """Returns the recording with this name."""
        path = self.folder / f"pulled-{next(self._numbers)}.json"
        outcome = self.run("pull", name, "-o", path, **variables)
        assert outcome.code == 0, outcome.stderr
        return json.loads(path.read_bytes())

    def path(self, name: str) -> Path:
        return self.work / name

    def end_all(self) -> None:
        """Kills what is still running."""
        for running in self._started:
            running.kill_group()


@dataclass
class Replayed(Outcome):
    """How a replay ended, and what its client saw."""

    acks: list[dict]
    has_started: bool
    remote: list[dict]


class Running:
    """A process of loomrec that may still run."""

    def __init__(self, line: list[str], folder: Path, environment: dict[str, str]) -> None:
        self.acks_file: Path | None = None
        self.process = subprocess.Popen(line, cwd=folder, env=environment, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, encoding="utf-8",
                                        start_new_session=True)

    def wait(self, patience: float = PATIENCE) -> Outcome:
        """Returns how the process ended. Its stdin is closed."""
        try:
            stdout, stderr = self.process.communicate(timeout=patience)
        except subprocess.TimeoutExpired:
            self.kill_group()
            stdout, stderr = self.process.communicate()
            message = f"{self.process.args} did not end within {patience} s: {stdout}{stderr}"
            raise AssertionError(message) from None
        return Outcome(self.process.returncode, stdout, stderr)

    def wait_for_pause(self) -> None:
        """Returns when the client has paused."""
        line = self.process.stdout.readline()
        assert line == "paused\n", f"{line!r}, not a pause: {self.process.stderr.read()}"

    def go_on(self) -> None:
        """Lets a client that has paused go on."""
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def wait_for_line(self, pattern: str) -> re.Match[str]:
        """Returns the first match in a line of stderr."""
        while line := self.process.stderr.readline():
            if found := re.search(pattern, line):
                return found
        raise AssertionError(f"no line has {pattern!r}")

    def kill(self) -> None:
        """Kills loomrec, then its client, which would wait for a call or a line."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(PATIENCE)
        self.kill_group()

    def kill_group(self) -> None:
        kill_group(self.process)

    @property
    def acks(self) -> list[dict]:
        return read_acks(self.acks_file)


class KillAt:
    """A rule of a proxy: kills loomrec when a request meets a condition, and cuts that and all later ones."""

    def __init__(self, condition: Callable[[Request], bool]) -> None:
        self.is_reached = False
        self._condition = condition
        self._has_started = threading.Event()
        self._running: Running | None = None

    def __call__(self, request: Request) -> bool:
        if not self.is_reached and self._condition(request):
            self._has_started.wait(PATIENCE)
            self.is_reached = True
            self._running.process.kill()
        return self.is_reached

    def wait_for_end_of(self, running: Running) -> None:
        """Returns when this rule has killed the process."""
        self._running = running
        self._has_started.set()
        assert running.process.wait(PATIENCE) == -signal.SIGKILL
        running.kill_group()
        assert self.is_reached


def read_acks(path: Path | None) -> list[dict]:
    """Returns the acknowledged calls. A last line that was cut is none."""
    if path is None or not path.exists():
        return []
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines(keepends=True)
            if line.endswith("\n")]


def entries(recording: dict) -> list[dict]:
    """Returns the entries of a recording in its order, takes of steps included."""
    values = [value for key, value in recording.items() if not key.startswith("_")]
    return [entry for value in values for entry in (value if isinstance(value, list) else [value])]


def prompt_of(entry: dict) -> str:
    return entry["request"]["body"]["messages"][-1]["content"]


def prompts(recording: dict) -> list[str]:
    return [prompt_of(entry) for entry in entries(recording)]


def contents(recording: dict) -> dict[str, str]:
    """Returns the answer to each prompt. No prompt occurs twice."""
    assert not repeated(recording)
    return {prompt_of(entry): entry["content"] for entry in entries(recording)}


def repeated(recording: dict) -> list[str]:
    """Returns the prompts that occur more than once."""
    return [prompt for prompt, count in Counter(prompts(recording)).items() if count > 1]


def assert_holds(recording: dict, acks: Iterable[dict]) -> None:
    """Checks that each acknowledged call is in the recording exactly once, with its right answer."""
    found = contents(recording)
    for ack in acks:
        assert found.get(ack["prompt"]) == ack["answer"], ack["prompt"]


def expected(label: str, numbers: Iterable[int], edition: int = 1) -> dict[str, str]:
    """Returns the answers that the upstream gives to the prompts of a client."""
    return {prompt: answer_text(prompt, edition) for prompt in (f"{label} {number}" for number in numbers)}
