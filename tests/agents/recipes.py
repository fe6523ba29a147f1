"""How each coding agent is started, as data: its command, variables, files and rules."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path


@dataclass
class Recipe:
    """One agent."""

    name: str
    #: What the shell runs. `$PROMPT` is the prompt; loomrec sets the base URLs.
    command: str
    #: Variables for both runs.
    variables: dict[str, str] = field(default_factory=dict)
    #: The keys a user has when recording. A replay has none.
    keys: dict[str, str] = field(default_factory=dict)
    #: What the shell runs first in a new HOME, also behind loomrec.
    setup: str = ""
    #: Files in HOME, by path.
    files: dict[str, str] = field(default_factory=dict)
    #: Rules for what differs from run to run, as arguments of `record`, which keeps them.
    rules: list[str] = field(default_factory=list)
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
        'claude -p "$PROMPT" --permission-mode bypassPermissions',
        # CLAUDE_CODE_… stops calls other than to the model; they go to the provider directly.
        variables={"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "IS_SANDBOX": "1"},
        rules=["--normalize", "/metadata/user_id: uuid",
               "--normalize", "/metadata/user_id: hex64",
               "--normalize-text", "/messages/0/content: Status:\\n(…)\\n\\nRecent commits:",
               "--normalize-text", "/messages/0/content: Recent commits:\\n(…)\\n\\n"],
        keys=ANTHROPIC, takes_faketime=False,
    ),
    Recipe(
        "aider",
        'aider --model gpt-4o --yes-always --no-check-update --analytics-disable '
        '--no-show-model-warnings --message "$PROMPT"',
        rules=["--normalize-text", "/messages/*/content: - Platform: (…)\\n"],
        ignore_file=".aiderignore",
        keys=OPENAI,
    ),
    Recipe(
        "opencode",
        'opencode run --model anthropic/claude-sonnet-4-5 "$PROMPT"',
        variables={"OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1"},
        keys=ANTHROPIC,
    ),
    Recipe(
        "gemini-cli",
        'gemini --skip-trust --approval-mode yolo --model gemini-2.5-pro -p "$PROMPT"',
        # Settings of the system; they leave those of the user alone. The two skills that come
        # with the program are in the prompt in the order in which a search finds them.
        files={"system-settings.json":
               '{"security": {"auth": {"selectedType": "gemini-api-key"}},'
               ' "skills": {"enabled": false}, "privacy": {"usageStatisticsEnabled": false},'
               ' "general": {"enableAutoUpdate": false}}'},
        variables={"GEMINI_CLI_SYSTEM_SETTINGS_PATH": "{home}/system-settings.json"},
        rules=["--normalize-text", "/systemInstruction: .gemini/tmp/(…)/memory/",
               "--normalize-text", "/contents: .gemini/tmp/(…)\\n",
               "--normalize", "/contents/*/parts/*/functionCall/id: epoch",
               "--normalize", "/contents/*/parts/*/functionResponse/id: epoch",
               "--normalize", "/contents/*/parts/*/functionResponse/response: pid"],
        ignore_file=".geminiignore",
        keys=GEMINI,
    ),
    Recipe(
        "qwen-code",
        'qwen --auth-type openai --approval-mode yolo --model gpt-4o -p "$PROMPT"',
        rules=["--normalize-text", "/messages/0/content: git: Status:(…)git: Recent commits:",
               "--normalize-text", "/messages/0/content: git: Recent commits:\\n(…)```"],
        ignore_file=".qwenignore",
        keys=OPENAI,
    ),
    Recipe(
        "codex",
        'codex exec --sandbox danger-full-access '
        '-c model_provider=loomrec -c model_providers.loomrec.name=OpenAI '
        '-c model_providers.loomrec.base_url="$OPENAI_BASE_URL" '
        '-c model_providers.loomrec.env_key=OPENAI_API_KEY '
        '-c model_providers.loomrec.wire_api=responses '
        '-c model_providers.loomrec.supports_websockets=false "$PROMPT"',
        rules=["--normalize", "/client_metadata: uuid",
               "--normalize", "/client_metadata/x-codex-turn-metadata: epoch",
               "--normalize", "/client_metadata/x-codex-turn-metadata: hex40",
               "--normalize-text",
               '/client_metadata/x-codex-turn-metadata: "has_changes":(…)}',
               "--normalize", "/prompt_cache_key: uuid",
               "--normalize", "/input/*/id: uuid",
               "--normalize", "/input/*/internal_chat_message_metadata_passthrough: uuid",
               "--normalize", "/input/*/internal_chat_message_metadata_passthrough: epoch",
               "--normalize", "/input/*/output: duration",
               "--normalize-text", "/input/*/output: Chunk ID: (…)\\n"],
        keys=OPENAI, takes_faketime=False,
    ),
    Recipe(
        "cline",
        'cline --yolo "$PROMPT"',
        setup='cline auth -p openai -k "$OPENAI_API_KEY" -m gpt-4o -b "$OPENAI_BASE_URL"',
        keys=OPENAI,
    ),
]


def versions() -> dict[str, str]:
    """Returns the version of each agent."""
    lines = (Path(__file__).parent / "programs.txt").read_text().splitlines()
    rows = [line.split() for line in lines if line and not line.startswith("#")]
    return {name: version for name, _, _, version in rows}
