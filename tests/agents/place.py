"""Where an agent runs: directory, HOME, user, clock and host."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path

from recipes import Recipe

#: The templates of files of settings.
SETTINGS = Path(__file__).parent / "settings"
FAKETIME = shutil.which("faketime")
#: The library that shifts the clock of programs that do not run under libfaketime.
SHIFT_CLOCK = os.environ.get("LOOMREC_TEST_SHIFT_CLOCK", "")
OTHER_HOST = ["unshare", "--uts", "sh", "-c"]
IS_OTHER_MACHINE = subprocess.run(
    [*OTHER_HOST, "hostname ci-7 && setarch --uname-2.6 true"], capture_output=True).returncode == 0
GIT = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org"]


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
    #: By how many days the clock is shifted.
    days: int = 0
    is_other_machine: bool = False
    committed: str = "2026-01-01"

    def prepare(self) -> None:
        """Makes an empty HOME, and a repository with one commit."""
        for folder in (self.home, self.cwd):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True, exist_ok=True)
        (self.cwd / "README.md").write_text("# A repository\n")
        self.git("init", "-q", "-b", "main")
        self.commit("init")

    def commit(self, message: str) -> None:
        self.git("add", ".")
        self.git("commit", "-q", "-m", message)

    def first_commit(self) -> str:
        return self.git("rev-list", "--max-parents=0", "HEAD").strip()

    def git(self, *arguments: str) -> str:
        """Returns what git prints."""
        moment = f"{self.committed}T00:00:00Z"
        date = {"GIT_AUTHOR_DATE": moment, "GIT_COMMITTER_DATE": moment, "HOME": str(self.home)}
        done = subprocess.run([*GIT, *arguments], cwd=self.cwd, check=True, text=True,
                              env={**os.environ, **date}, stdout=subprocess.PIPE)
        return done.stdout

    def environment(self, recipe: Recipe, programs: Path) -> dict[str, str]:
        node = str(Path(shutil.which("node")).resolve().parent)
        bins = f"{programs}/node_modules/.bin:{programs}/venv/bin"
        environment = {
            "PATH": f"{bins}:{node}:/usr/local/bin:/usr/bin:/bin", "HOME": str(self.home),
            "USER": self.user, "LOGNAME": self.user, "SHELL": "/bin/bash", "TERM": "dumb",
            "LANG": "C.UTF-8", "GIT_AUTHOR_NAME": "t", "GIT_COMMITTER_NAME": "t",
            "GIT_AUTHOR_EMAIL": "t@example.org", "GIT_COMMITTER_EMAIL": "t@example.org",
            "SETTINGS": str(SETTINGS), **recipe.variables,
        }
        if recipe.source:
            environment["PROGRAM"] = str(programs / recipe.source)
        if self.days and self.clock(recipe) == "faketime":
            environment["FAKETIME_DONT_FAKE_MONOTONIC"] = "1"
        elif self.days and self.clock(recipe) == "TZ":
            environment["TZ"] = another_day()
        return environment

    def clock(self, recipe: Recipe) -> str:
        """Returns what shifts the clock of this agent."""
        if recipe.clock == "faketime" and FAKETIME:
            return "faketime"
        return "preload" if recipe.clock == "preload" and SHIFT_CLOCK else "TZ"

    def shift(self, recipe: Recipe) -> list[str]:
        """Returns the command that shifts the clock of what follows."""
        if not self.days or self.clock(recipe) == "TZ":
            return []
        if self.clock(recipe) == "faketime":
            return [str(FAKETIME), "-f", f"+{self.days}d"]
        return ["env", f"LD_PRELOAD={SHIFT_CLOCK}", f"CLOCK_SHIFT={self.days * 86400}"]

    def machine(self) -> list[str]:
        """Returns the command that gives what follows another host name and kernel release."""
        if not self.is_other_machine or not IS_OTHER_MACHINE:
            return []
        return [*OTHER_HOST, 'hostname ci-7 && exec setarch --uname-2.6 "$@"', "sh"]
