"""The fixtures: a scripted upstream, and copies of the sample project with pytest to run in them."""

from __future__ import annotations

import fcntl
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from dataclasses import asdict, dataclass
from pathlib import Path

import pytest

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent / "sdk"))

from loop import KEYS  # noqa: E402
from upstream import Upstream  # noqa: E402

collect_ignore = ["project"]
PATIENCE = 120  # seconds a run may take: a bound against hanging, not a measure
#: Variables of this run that a run in the project must not see.
_OURS = re.compile(r"PYTEST_|LOOMREC_(?!BIN$)|CI$|.*_API_KEY$|.*_BASE_URL$")


@dataclass
class Outcome:
    """How a run of pytest ended."""

    code: int
    stdout: str
    stderr: str

    @property
    def counts(self) -> dict[str, int]:
        """The counts of pytest's closing line: `{"passed": 3}`."""
        found = re.findall(r"(\d+) (passed|failed|errors?|skipped|xfailed|xpassed|rerun|deselected)",
                           self.stdout.strip().splitlines()[-1])
        return {word.rstrip("s") if word == "errors" else word: int(number) for number, word in found}

    @property
    def said(self) -> list[str]:
        """The lines of loomrec's summary."""
        lines = self.stdout.splitlines()
        return [line[len("loomrec: "):] for line in lines if line.startswith("loomrec: ")]


@dataclass
class Project:
    """A copy of the sample project."""

    folder: Path
    upstream: Upstream
    first: Outcome | None = None

    def run(self, *arguments: str, keys: bool = False, **variables: str) -> Outcome:
        """Runs pytest. `keys` gives it API keys, as a recording needs them."""
        kept = {name: value for name, value in os.environ.items() if not _OURS.match(name)}
        env = {"PYTHONFAULTHANDLER": "1", **kept, **(KEYS if keys else {}), **variables}
        line = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
        with subprocess.Popen(line, cwd=self.folder, env=env, encoding="utf-8",
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              start_new_session=True) as running:
            try:
                stdout, stderr = running.communicate(timeout=PATIENCE)
            except subprocess.TimeoutExpired:
                # Each process, workers as well, says on stderr where each of its threads is.
                os.killpg(running.pid, signal.SIGABRT)
                stdout, stderr = running.communicate()
                pytest.fail(f"pytest did not end within {PATIENCE} s\n{stdout}\n{stderr}", pytrace=False)
        return Outcome(running.returncode, stdout, stderr)

    def record(self, *arguments: str) -> Outcome:
        return self.run("--loomrec=record", *arguments, keys=True)

    def edit(self, path: str, old: str, new: str) -> None:
        """Changes a file. The text must be there."""
        text = self.path(path).read_text(encoding="utf-8")
        assert old in text, f"{old!r} is not in {path}"
        self.path(path).write_text(text.replace(old, new), encoding="utf-8")

    def point_at(self, url: str) -> None:
        """Names the upstream of the project's recordings."""
        settings = self.path("pyproject.toml")
        text = settings.read_text(encoding="utf-8")
        named = re.sub('(openai|anthropic|gemini)=[^"]*', rf"\1={url}", text)
        settings.write_text(named, encoding="utf-8")

    def write(self, path: str, text: str) -> None:
        self.path(path).parent.mkdir(parents=True, exist_ok=True)
        self.path(path).write_text(text, encoding="utf-8")

    def path(self, path: str) -> Path:
        return self.folder / path

    def leave_out_sdks(self) -> None:
        """Removes the tests that take seconds to import."""
        self.path("tests/test_sdks.py").unlink()
        shutil.rmtree(self.path("tests/recordings/test_sdks"))

    def recordings(self) -> dict[str, bytes]:
        """The content of every recording."""
        return {path.relative_to(self.folder).as_posix(): path.read_bytes()
                for path in self.folder.rglob("recordings/**/*.json")}

    def leftovers(self) -> list[str]:
        """Files below folders of recordings that are none, but for what hides loomrec's own."""
        return [path.name for path in self.folder.rglob("recordings/**/*")
                if path.is_file() and path.suffix != ".json"
                and (path.parent.name, path.name) != (".loomrec", ".gitignore")]


@pytest.fixture(scope="session")
def upstream():
    """The scripted upstream of the SDKs' suite."""
    upstream = Upstream()
    yield upstream
    upstream.close()


@pytest.fixture(scope="session")
def recorded(upstream, tmp_path_factory):
    """The project after its first recording, by four processes. Tests copy it.

    The processes of this suite share it: the first one records.
    """
    shared = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        shared = shared.parent
    project, outcome = Project(shared / "recorded", upstream), shared / "recorded.json"
    with open(shared / "recorded.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not outcome.exists():
            shutil.copytree(HERE / "project", project.folder)
            project.point_at(upstream.url)
            outcome.write_text(json.dumps(asdict(project.record("-n", "4"))), encoding="utf-8")
    project.first = Outcome(**json.loads(outcome.read_text(encoding="utf-8")))
    return project


@pytest.fixture
def project(recorded, tmp_path):
    """A copy of the recorded project."""
    copy = Project(Path(shutil.copytree(recorded.folder, tmp_path / "project")), recorded.upstream)
    copy.point_at(recorded.upstream.url)
    recorded.upstream.forget()
    return copy


@pytest.fixture
def bare_project(upstream, tmp_path):
    """An empty project whose tests the test itself writes."""
    folder = tmp_path / "bare"
    (folder / "tests/auto").mkdir(parents=True)  # the settings name it
    shutil.copy(HERE / "project/assistant.py", folder / "assistant.py")
    upstream.forget()
    made = Project(folder, upstream)
    shutil.copy(HERE / "project/pyproject.toml", folder / "pyproject.toml")
    made.point_at(upstream.url)
    return made
