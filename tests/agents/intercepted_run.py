"""The runs of one agent without a base URL: it reaches loomrec only as its https proxy."""

from __future__ import annotations

import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from agent_run import CHANGED, AgentRun
from conditions import CONDITIONS
from plans import CONTENT, Script
from recipes import Recipe

sys.path.append(str(Path(__file__).parents[1] / "sdk"))
import resolved  # noqa: E402

#: The upstreams of the agents, which all are the scripted one.
UPSTREAMS = ("anthropic", "gemini", "openai")
CLEAN = next(condition for condition in CONDITIONS if condition.name == "clean")


class InterceptedRun(AgentRun):
    """The runs of one agent without a base URL. Replays have no network."""

    def __init__(self, recipe: Recipe, programs: Path, work: Path, loomrec: str, script: Script):
        renamed = replace(recipe, name=f"{recipe.name}, intercepted")
        super().__init__(renamed, programs, work, loomrec, script)
        self.flags = ["--intercept", *(f"--no-env={name}" for name in base_urls(loomrec))]
        self.counts = work / f"{self.base.name}-connections.json"

    def record_flags(self, url: str) -> list[str]:
        upstreams = [f"--upstream={name}={url}" for name in UPSTREAMS]
        return [*upstreams, *self.flags, *self.recipe.flags, *self.recipe.interception.flags]

    def replay_flags(self) -> list[str]:
        return self.flags

    def network(self, command: str) -> list[str]:
        return (resolved.machine(self.counts) or []) if command == "replay" else []

    def why_red_without_base_url(self) -> str:
        """Records, replays, and replays a changed prompt. Returns why that was not green; nothing
        if it was."""
        recorded = self.record(self.place())
        if recorded.code != 0 or recorded.file != CONTENT or not self.posts:
            return f"record: {recorded.reason(self.base)}, {self.posts} calls"
        if recorded.count("escapes") or recorded.count("failed_tunnels"):
            return f"record: not all calls came here: {recorded.receipt['escapes']}"
        return self.why_red(CLEAN, recorded) or self.why_connected() \
            or self.why_changed_word_not_missed()

    def why_connected(self) -> str:
        """Returns why the last replay was not without a network; nothing if it was."""
        if not self.network("replay"):
            return ""
        count = resolved.connections(self.counts)
        return f"the replay connected {count} times past loomrec" if count else ""

    def why_changed_word_not_missed(self) -> str:
        outcome, _ = self.replay(CLEAN, prompt=CHANGED)
        if outcome.is_miss(served=0):
            return self.why_connected()
        return f"a changed word was no miss: exit code {outcome.code}"


def base_urls(loomrec: str) -> list[str]:
    """Returns the names of the variables that lead clients to loomrec by a base URL."""
    printed = subprocess.run([loomrec, "record", "-r", "agent.json", "--print-env"], check=True,
                             text=True, stdout=subprocess.PIPE).stdout
    words = [word.partition("=") for word in shlex.split(printed) if "=" in word]
    values = {name: value for name, _, value in words}
    return [name for name, value in values.items()
            if value.startswith(values["LOOMREC_URL"]) and name != "LOOMREC_URL"]
