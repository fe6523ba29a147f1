"""How each coding agent is started, as data: its command, variables and keys."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path

from plans import Script


@dataclass(frozen=True)
class Interception:
    """What an agent needs to be recorded without a base URL."""

    #: Flags of `record`.
    flags: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Recipe:
    """One agent."""

    name: str
    #: The command. `$PROMPT` is the prompt; loomrec sets the base URLs, and applies its preset.
    command: str
    #: The program in `programs.txt`, if it has another name. All its versions are tried.
    program: str = ""
    #: Variables for both runs.
    variables: dict[str, str] = field(default_factory=dict)
    #: The keys a user has when recording. A replay has none.
    keys: dict[str, str] = field(default_factory=dict)
    #: Flags of `record`.
    flags: list[str] = field(default_factory=list)
    #: What the shell runs first, also behind loomrec.
    setup: str = ""
    #: A file of `programs/` that is put beside the packages, so that it can import them.
    source: str = ""
    #: Files of `settings/` that a user of the program has in HOME: the file, and its template.
    #: `@LOOMREC@` is the binary, `@SERVERS@` the packages of MCP servers, `@STARTS@` the file to
    #: which each server adds a line when it starts.
    home: dict[str, str] = field(default_factory=dict)
    #: What shifts the program's clock: `faketime`, `preload` for those that do not run under it,
    #: or `TZ`, another time zone, for programs that load no library.
    clock: str = "preload"
    #: What the model has the agent do. `None` for the choice of the command line.
    script: Script | None = None
    #: Whether the agent runs in a terminal, where the harness types.
    screen: list[tuple[str, str]] = field(default_factory=list)
    #: Whether a changed word, result and argument are tried, too.
    has_changes: bool = True
    #: Whether the upstream accepts WebSockets.
    has_sockets: bool = False
    #: Whether the model names files by their paths from the root, where the agent told it them.
    has_full_paths: bool = True
    #: The number of MCP servers that a recorded run starts. A replay starts none.
    servers: int = 0
    #: Tried without a base URL, too, if there is one.
    interception: Interception | None = None


ANTHROPIC = {"ANTHROPIC_API_KEY": "sk-ant-api03-" + "x" * 80}
OPENAI = {"OPENAI_API_KEY": "sk-proj-" + "x" * 40}
GEMINI = {"GEMINI_API_KEY": "AIza" + "x" * 35}
MISTRAL = {"MISTRAL_API_KEY": "x" * 32}


def settings(template: str, file: str) -> str:
    """Returns the shell command that writes a file of settings with loomrec's addresses. It runs
    behind loomrec, whose port is another one in each run."""
    values = "; ".join(f"s|@{name}@|${variable}|" for name, variable in [
        ("OPENAI", "OPENAI_BASE_URL"), ("ANTHROPIC", "ANTHROPIC_BASE_URL"),
        ("KEY", "OPENAI_API_KEY"), ("PROGRAM", "PROGRAM")])
    return f'mkdir -p "$(dirname {file})" && sed "{values}" "$SETTINGS/{template}" > {file}'


#: At its provider's own host, Claude Code asks for the settings of an organization, on condition if
#: it has them from an earlier run.
CLAUDE_INTERCEPTION = Interception(["--ignore", "header:if-none-match"])
CLAUDE = Recipe(
    "claude-code", 'claude -p "$PROMPT" --permission-mode acceptEdits --allowedTools Bash',
    keys=ANTHROPIC, clock="preload", interception=CLAUDE_INTERCEPTION)
# The preset takes the address from OPENAI_BASE_URL.
CODEX = Recipe(
    "codex", 'codex exec --sandbox danger-full-access "$PROMPT"', keys=OPENAI, clock="TZ",
    interception=Interception())
#: The agents that loomrec has a preset for.
KNOWN = [
    CLAUDE,
    CODEX,
    Recipe("gemini-cli",
           'gemini --skip-trust --approval-mode yolo --model gemini-2.5-pro -p "$PROMPT"',
           keys=GEMINI, interception=Interception()),
    Recipe("qwen-code",
           'qwen --auth-type openai --approval-mode yolo --model gpt-4o -p "$PROMPT"', keys=OPENAI),
    Recipe("opencode", 'opencode run --model anthropic/claude-sonnet-4-5 "$PROMPT"',
           keys=ANTHROPIC),
    Recipe("cline", 'cline --yolo "$PROMPT"', keys=OPENAI,
           setup='export CLINE_PROVIDER_SETTINGS_PATH=$(mktemp -d)/providers.json && '
                 'cline auth -p openai -k "$OPENAI_API_KEY" -m gpt-4o -b "$OPENAI_BASE_URL"'),
    Recipe("aider",
           'aider --model gpt-4o --yes-always --no-show-model-warnings --message "$PROMPT"',
           keys=OPENAI),
]
#: Agents that were chosen before anyone looked at their requests.
OTHERS = [
    Recipe("copilot", 'copilot -p "$PROMPT" --allow-all-tools --no-color', keys=OPENAI,
           clock="preload",
           setup='export COPILOT_PROVIDER_BASE_URL="$OPENAI_BASE_URL" COPILOT_MODEL=gpt-4o '
                 'COPILOT_PROVIDER_TYPE=openai COPILOT_PROVIDER_API_KEY="$OPENAI_API_KEY"'),
    Recipe("mistral-vibe", 'vibe --auto-approve -p "$PROMPT"', keys=MISTRAL,
           setup=settings("vibe.toml", "~/.vibe/config.toml")),
    # It cuts commands of more than 100 characters, so that they hold a part of a path.
    Recipe("gptme", 'gptme --non-interactive --model openai/gpt-4o "$PROMPT"', keys=OPENAI,
           has_full_paths=False),
    Recipe("pi", 'pi --provider anthropic --model claude-sonnet-4-5 -p "$PROMPT"', keys=ANTHROPIC,
           setup=settings("pi.json", "~/.pi/agent/models.json")),
    Recipe("grok-cli", 'grok --prompt "$PROMPT"', keys=OPENAI,
           setup='export GROK_BASE_URL="$OPENAI_BASE_URL" GROK_API_KEY="$OPENAI_API_KEY"'),
    Recipe("mini-swe-agent", 'mini -m openai/gpt-4o -y --exit-immediately -t "$PROMPT"',
           keys=OPENAI,
           variables={"MSWEA_CONFIGURED": "true", "MSWEA_COST_TRACKING": "ignore_errors"}),
    Recipe("continue", 'cn -p "$PROMPT" --auto --config ~/.continue/config.yaml', keys=OPENAI,
           setup=settings("continue.yaml", "~/.continue/config.yaml")),
    Recipe("openhands", 'openhands --headless --override-with-envs -t "$PROMPT"', keys=OPENAI,
           setup='export LLM_BASE_URL="$OPENAI_BASE_URL" LLM_API_KEY="$OPENAI_API_KEY" '
                 'LLM_MODEL=openai/gpt-4o'),
    Recipe("kilo", 'kilo run --auto --model anthropic/claude-sonnet-4-5 "$PROMPT"', keys=ANTHROPIC),
    Recipe("cecli", 'cecli --model gpt-4o --yes-always --no-show-model-warnings --message "$PROMPT"',
           keys=OPENAI),
    Recipe("open-interpreter", 'python "$PROGRAM"', keys=OPENAI, source="prompt_open_interpreter.py"),
]
SDKS = [
    Recipe("claude-agent-sdk-python", 'python "$PROGRAM"', keys=ANTHROPIC, clock="preload",
           source="prompt_claude_agent.py", interception=CLAUDE_INTERCEPTION),
    Recipe("claude-agent-sdk-node", 'node "$PROGRAM"', keys=ANTHROPIC, clock="preload",
           source="prompt_claude_agent.mjs", interception=CLAUDE_INTERCEPTION),
    Recipe("codex-sdk-node", 'node "$PROGRAM"', keys=OPENAI, clock="TZ", source="prompt_codex.mjs"),
]


def claude(name: str, script: Script | None = None, **changes) -> Recipe:
    """Returns a further run of Claude Code's newest version."""
    return replace(CLAUDE, name=f"claude-code, {name}", program="claude-code", script=script,
                   has_changes=False, interception=None, **changes)


#: Longer and other runs.
FURTHER = [
    claude("25 tool calls", Script.TURNS_25),
    claude("6 parallel tool calls", Script.PARALLEL_6),
    claude("1 sub-agent", Script.SUBAGENT_1),
    claude("3 sub-agents", Script.SUBAGENTS_3),
    claude("MCP", Script.MCP, source="notes_server.py", setup=settings("mcp.json", "~/mcp.json"),
           command='claude -p "$PROMPT" --permission-mode acceptEdits '
                   '--allowedTools Bash,mcp__notes__lookup --mcp-config ~/mcp.json'),
    replace(CLAUDE, name="claude-code, 3 MCP servers", program="claude-code", servers=3,
            script=Script.MCP_SERVERS, interception=None, home={".claude.json": "plain_servers.json"},
            flags=["--bind"],
            # Its first prompt has the tools of servers that have started by then; npx is slow.
            variables={"MCP_CONNECT_TIMEOUT_MS": "60000"},
            command=CLAUDE.command + ",mcp__everything,mcp__filesystem,mcp__memory"),
    claude("continued with -c", setup="true",
           command=CLAUDE.command + ' && claude -c -p "And now say how long it is." '
                                    '--permission-mode acceptEdits --allowedTools Bash'),
    claude("in a script", setup="true"),
    # Without the file, it first asks for a theme, and its host for the country.
    claude("in a terminal", command="claude --permission-mode acceptEdits --allowedTools Bash",
           home={".claude.json": "claude.json"},
           screen=[("Yes, I trust", "Down Enter"), ("Do you want to use this API key", "Up Enter"),
                   ("accept edits on", "$PROMPT"), ("I wrote hello.txt", "/exit")]),
    replace(CODEX, name="codex, 25 tool calls", program="codex", script=Script.TURNS_25,
            has_changes=False, interception=None),
    replace(CODEX, name="codex, 3 MCP servers", program="codex", servers=3,
            script=Script.MCP_SERVERS, interception=None,
            flags=["--bind"], home={".codex/config.toml": "plain_servers.toml"}),
    Recipe("openai-agents, 3 MCP servers", 'python "$PROGRAM"', program="openai-agents", servers=3,
           script=Script.MCP_SERVERS, keys=OPENAI, source="prompt_openai_agents.py",
           variables={"OPENAI_AGENTS_DISABLE_TRACING": "1"}, home={"servers.json": "servers.json"}),
    replace(CODEX, name="codex, WebSocket", program="codex", has_sockets=True,
            interception=None,
            command="codex exec -c model_providers.loomrec.supports_websockets=true "
                    '--sandbox danger-full-access "$PROMPT"'),
]
RECIPES = KNOWN + OTHERS + SDKS + FURTHER


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
    """Returns the programs that a file lists, a line each: name, registry, packages."""
    rows = [line.split() for line in file.read_text().splitlines()
            if line and not line.startswith("#")]
    return [Program(name, registry, packages) for name, registry, *packages in rows]
