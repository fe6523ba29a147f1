"""The conditions in which a recording is replayed: what differs from the recorded run."""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace
from pathlib import Path

from place import Place


@dataclass(frozen=True)
class Condition:
    """What differs from the recorded run."""

    name: str
    #: The head of its column in the table.
    title: str
    #: Whether the recorded directory was in the recorded HOME.
    is_inside: bool = True
    is_clean: bool = True
    other_directory: bool = False
    other_home: bool = False
    other_day: bool = False
    other_machine: bool = False
    #: Whether the recording is committed, and the repository cloned anew.
    is_clone: bool = False

    def apply(self, recorded: Place, base: Path) -> Place:
        """Changes the files of the recorded run. Returns where to replay."""
        place = replace(recorded)
        if self.is_clean:
            # Some agents commit what they write.
            recorded.git("reset", "-q", "--hard", recorded.first_commit())
            recorded.git("clean", "-fdxq", "-e", "recordings")
        if self.other_home:
            place.home = base / "ci-home"
            place.home.mkdir(parents=True)
        if self.is_clone:
            recorded.committed = "2026-01-02"
            recorded.git("add", "recordings")
            recorded.git("commit", "-q", "-m", "Add the recording")
        if self.other_directory:
            place.cwd = base / "build/1234/deeper/checkout"
            place.cwd.parent.mkdir(parents=True)
        if self.is_clone:
            recorded.git("clone", "-q", f"file://{recorded.cwd}", str(place.cwd))
            shutil.rmtree(recorded.cwd)
        elif self.other_directory:
            recorded.cwd.rename(place.cwd)
        place.days = 3 if self.other_day else 0
        if self.other_machine:
            place.user, place.is_other_machine = "runner", True
        return place


CLONE = Condition("clone", "fresh clone, all of these", is_clone=True, other_directory=True,
                  other_home=True, other_day=True, other_machine=True)
CONDITIONS = [
    Condition("as-left", "as left", is_clean=False),
    Condition("clean", "clean tree"),
    Condition("directory", "other directory", other_directory=True),
    Condition("home-inside", "other HOME, directory in the recorded one", other_home=True),
    Condition("home-outside", "other HOME, directory outside", is_inside=False, other_home=True),
    Condition("day", "other day", other_day=True),
    Condition("machine", "other host and user", other_machine=True),
    CLONE,
]
#: A recording of its own, made and replayed without a base URL.
INTERCEPTED = "intercepted"
#: What a replay must miss. It is tried in a fresh clone.
CHANGES = {"word": "changed word", "result": "changed tool result",
           "argument": "changed tool argument"}
