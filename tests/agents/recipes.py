"""How each coding agent is started, as data: its command and variables."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Recipe:
    """One agent."""

    name: str
    #: The command. `$PROMPT` is the prompt; loomrec sets the base URLs, and applies its preset.
    command: str
    #: Variables for both runs.
    variables: dict[str, str] = field(default_factory=dict)
    #: The keys a user has when recording. A replay has none.
    keys: dict[str, str] = field(default_factory=dict)
    #: What the shell runs first, also behind loomrec.
    setup: str = ""
    #: The file of the repository that keeps the recordings out of the agent's sight.
    ignore_file: str = ""
    #: Whether libfaketime can shift the program's clock. Others get another time zone.
    takes_faketime: bool = True


ANTHROPIC = {"ANTHROPIC_API_KEY": "sk-ant-api03-" + "x" * 80}
OPENAI = {"OPENAI_API_KEY": "sk-proj-" + "x" * 40}
GEMINI = {"GEMINI_API_KEY": "AIza" + "x" * 35}

RECIPES = [
    Recipe(
        "claude-code",
        'claude -p "$PROMPT" --permission-mode acceptEdits --allowedTools Bash',
        keys=ANTHROPIC, takes_faketime=False,
    ),
    Recipe(
        "aider",
        'aider --model gpt-4o --yes-always --no-show-model-warnings --message "$PROMPT"',
        ignore_file=".aiderignore",
        keys=OPENAI,
    ),
    Recipe(
        "opencode",
        'opencode run --model anthropic/claude-sonnet-4-5 "$PROMPT"',
        keys=ANTHROPIC,
    ),
    Recipe(
        "gemini-cli",
        'gemini --skip-trust --approval-mode yolo --model gemini-2.5-pro -p "$PROMPT"',
        ignore_file=".geminiignore",
        keys=GEMINI,
    ),
    Recipe(
        "qwen-code",
        'qwen --auth-type openai --approval-mode yolo --model gpt-4o -p "$PROMPT"',
        ignore_file=".qwenignore",
        keys=OPENAI,
    ),
    Recipe(
        "codex",
        'codex exec --sandbox danger-full-access "$PROMPT"',
        keys=OPENAI, takes_faketime=False,
    ),
    Recipe(
        "cline",
        'cline --yolo "$PROMPT"',
        setup='export CLINE_PROVIDER_SETTINGS_PATH=$(mktemp -d)/providers.json && '
              'cline auth -p openai -k "$OPENAI_API_KEY" -m gpt-4o -b "$OPENAI_BASE_URL"',
        keys=OPENAI,
    ),
]


@dataclass
class Program:
    """A line of a `programs.txt`."""

    name: str
    registry: str
    packages: list[str]

    def version(self) -> str:
        """Returns the version of the first package."""
        return self.packages[0].rpartition("@" if self.registry == "npm" else "==")[2]


def read_programs(file: Path) -> list[Program]:
    rows = [line.split() for line in file.read_text().splitlines()
            if line and not line.startswith("#")]
    return [Program(name, registry, packages) for name, registry, *packages in rows]


def versions() -> dict[str, str]:
    """Returns the version of each agent."""
    programs = read_programs(Path(__file__).parent / "programs.txt")
    return {program.name: program.version() for program in programs}
