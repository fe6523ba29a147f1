"""What the scripted model says: scripts of tool calls, played on whatever tools an agent has.

A script is a list of steps. The step is found by the number of tool results in the request.
Each step is played with the agent's own tools: the arguments are filled in by
the names in the tool's schema. A path is absolute if the agent told the model its directory,
as with real models, or else relative.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import Enum

from requests_of_agents import Conversation, Tool, answer_schema, read_tools

CONTENT = "hello from the model\n"
EDIT = f"hello.txt\n```\n<<<<<<< SEARCH\n=======\n{CONTENT}>>>>>>> REPLACE\n```\n"
FINAL = "I wrote hello.txt. Done."
#: What the prompt of each sub-agent begins with.
SUBTASK = "Subtask"
#: What the user's prompts begin with.
PROMPT_STARTS = "Please write the file"


class Script(Enum):
    """What the model has the agent do."""

    #: Write a file with the tool for files, print it with the shell, and end.
    FILE = "file"
    #: The same, all of it with the shell.
    SHELL = "shell"
    #: Write a file, and print it until there were 25 calls of tools.
    TURNS_25 = "25 tool calls"
    #: Write a file, and then call the shell six times at once.
    PARALLEL_6 = "6 parallel tool calls"
    #: Start one sub-agent, which calls the shell; then write a file.
    SUBAGENT_1 = "1 sub-agent"
    #: Start three sub-agents at once.
    SUBAGENTS_3 = "3 sub-agents"
    #: Call the tool `lookup` of an MCP server; then write a file.
    MCP = "an MCP tool"
    #: Write a file; then call a tool of each of the MCP servers `everything`, `filesystem`, `memory`.
    MCP_SERVERS = "3 MCP servers"


class Step(Enum):
    """One answer of the model that is not the last."""

    WRITE = 1
    SHELL_WRITE = 2
    SHELL = 3
    SHELL_SIX = 4
    AGENT = 5
    AGENT_THREE = 6
    LOOKUP = 7
    ECHO = 8
    READ_TEXT = 9
    SEARCH_NODES = 10


STEPS = {
    Script.FILE: [Step.WRITE, Step.SHELL],
    Script.SHELL: [Step.SHELL_WRITE, Step.SHELL],
    Script.TURNS_25: [Step.SHELL_WRITE] + [Step.SHELL] * 24,
    Script.PARALLEL_6: [Step.SHELL_WRITE, Step.SHELL_SIX],
    Script.SUBAGENT_1: [Step.SHELL_WRITE, Step.AGENT],
    Script.SUBAGENTS_3: [Step.SHELL_WRITE, Step.AGENT_THREE],
    Script.MCP: [Step.SHELL_WRITE, Step.LOOKUP],
    Script.MCP_SERVERS: [Step.SHELL_WRITE, Step.ECHO, Step.READ_TEXT, Step.SEARCH_NODES],
}
#: What the tool `echo` says again.
WORD = "weft"

WRITERS = ["Write", "write_file", "write", "editor", "create_file", "create", "WriteFile",
           "file_editor", "str_replace_editor"]
SHELLS = ["Bash", "bash", "run_shell_command", "run_commands", "exec_command", "shell", "Shell",
          "execute_bash", "terminal", "execute", "shell_command", "run_terminal_command",
          "run_terminal_cmd", "local--Command"]
#: A tool of Codex whose argument is a program that calls the other tools.
CODE_TOOL = "exec"
AGENTS = ["Agent", "Task", "task"]
#: Tools with which some agents want the end to be said.
FINISHERS = {"submit_and_exit": {"summary": FINAL, "verified": True}, "finish": {"message": FINAL},
             "complete": {}, "local--Yield": {"summary": FINAL}}
#: The members of a tool's arguments, by what they hold. Case and underscores do not count.
MEMBERS = {
    "path": ["path", "filepath", "absolutepath", "filename", "file"],
    "content": ["content", "contents", "newtext", "filetext", "text"],
    "command": ["command", "commands", "cmd", "code", "script"],
    "directory": ["workdir"],
    "prompt": ["prompt", "task", "instructions"],
    "kind": ["subagenttype", "agenttype"],
    "description": ["description", "summary", "intent", "title"],
}


@dataclass
class Call:
    """One call of a tool. Its arguments are a text for tools that take a text."""

    tool: str
    arguments: dict | str


class Plan:
    """What the model says to a request: calls of tools, or a text."""

    def __init__(self, body: dict, script: Script, directory: str):
        self.calls: list[Call] = []
        self.text: str | None = FINAL
        self.script, self.directory = script, directory
        self.raw = json.dumps(body)
        self.tools = read_tools(body)
        self.conversation = Conversation(body)
        schema = answer_schema(body)
        if schema is not None:
            self.text = json.dumps(example(schema))
        elif self.tools:
            self.use_tools()
        else:
            self.text = self.plain_text()

    def plain_text(self) -> str:
        """Returns the answer to a request without tools."""
        if "<<<<<<< SEARCH" in self.raw or "SEARCH/REPLACE" in self.raw:
            return EDIT
        if "```save" in self.raw or "gptme" in self.raw:
            is_written = self.conversation.model_said("```save")
            return FINAL if is_written else f"```save hello.txt\n{CONTENT}```\n"
        is_json = '"title"' in self.raw.replace('\\"', '"')
        return json.dumps({"title": "Write a file"}) if is_json else "Write a file"

    def subtask(self) -> int | None:
        """Returns the number of the sub-agent whose request it is."""
        if self.conversation.user_said(PROMPT_STARTS):
            return None
        numbers = (number for number in range(3)
                   if self.conversation.user_said(f"{SUBTASK} {number}:"))
        return next(numbers, None)

    def use_tools(self) -> None:
        step = self.conversation.results
        steps = STEPS[self.script] if self.subtask() is None else [Step.SHELL]
        at = 0
        for one in steps:
            calls = self.play(one)
            if step < at + len(calls):
                self.calls = calls
                return
            at += len(calls)
        finisher = next((tool for tool in self.tools if tool.name in FINISHERS), None)
        if finisher:
            self.calls = [Call(finisher.name, FINISHERS[finisher.name])]
        elif "COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT" in self.raw:
            self.calls = self.shell("echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT")

    def play(self, step: Step) -> list[Call]:
        """Returns the calls of a step; none if the agent has no tool for it."""
        path = self.path("hello.txt")
        if step == Step.WRITE:
            tool = self.find(WRITERS)
            if tool:
                return [Call(tool.name, fill(tool, {"path": path, "content": CONTENT}))]
            step = Step.SHELL_WRITE
        if step == Step.SHELL_WRITE:
            return self.shell(f"printf '{CONTENT[:-1]}\\n' > {path}")
        if step == Step.SHELL:
            return self.shell(f"cat {path} {self.path('README.md')}")
        if step == Step.SHELL_SIX:
            return [call for number in range(6) for call in self.shell(f"echo {number}; cat {path}")]
        if step in (Step.AGENT, Step.AGENT_THREE):
            tool = self.find(AGENTS)
            count = 1 if step == Step.AGENT else 3
            return [Call(tool.name, fill(tool, {
                "prompt": f"{SUBTASK} {number}: read {path}", "kind": "general-purpose",
                "description": f"Read a file {number}"})) for number in range(count) if tool]
        if step == Step.ECHO:
            return self.tool_of("everything", "echo", {"message": WORD})
        if step == Step.READ_TEXT:
            return self.tool_of("filesystem", "read_text_file", {"path": path})
        if step == Step.SEARCH_NODES:
            return self.tool_of("memory", "search_nodes", {"query": WORD})
        return self.lookup()

    def tool_of(self, server: str, tool: str, arguments: dict) -> list[Call]:
        """Calls a tool of an MCP server. Some agents leave out the name of the server."""
        known = self.find([f"mcp__{server}__{tool}", tool])
        if known:
            return [Call(known.name, arguments)]
        call = f"await tools.mcp__{server}__{tool}({json.dumps(arguments)})"
        return [Call(CODE_TOOL, f"const r = {call};\ntext(JSON.stringify(r));")] \
            if self.find([CODE_TOOL]) else []

    def lookup(self) -> list[Call]:
        """Calls the tool of the MCP server, after the tool that loads it if it must be loaded."""
        name = next((tool.name for tool in self.tools if tool.name.endswith("lookup")), None)
        loader = self.find(["ToolSearch"])
        calls = [Call(loader.name, fill(loader, {}) | {"query": "select:mcp__notes__lookup"})] \
            if loader else []
        if name:
            return [*calls, Call(name, {"word": "hello"})][-1:]
        return calls

    def shell(self, command: str) -> list[Call]:
        if any(tool.name == CODE_TOOL for tool in self.tools) and not self.find(SHELLS[:4]):
            arguments = {"cmd": command, "workdir": self.directory}
            code = f"const r = await tools.exec_command({json.dumps(arguments)});\ntext(r.output);"
            return [Call(CODE_TOOL, code)]
        tool = self.find(SHELLS)
        values = {"command": command, "description": "Runs a command", "directory": self.directory}
        return [Call(tool.name, fill(tool, values))] if tool else []

    def find(self, names: list[str]) -> Tool | None:
        known = {tool.name: tool for tool in self.tools}
        return next((known[name] for name in names if name in known), None)

    def path(self, name: str) -> str:
        is_told = self.directory and self.directory in self.raw
        return f"{self.directory}/{name}" if is_told else name


def fill(tool: Tool, values: dict[str, str]) -> dict:
    """Returns arguments for a tool: these values where its schema has a member for them, and
    something of the right type for all others that it requires."""
    arguments = {}
    for name, schema in tool.members.items():
        plain = name.lower().replace("_", "")
        key = next((key for key, names in MEMBERS.items() if plain in names), None)
        if choices := schema.get("enum"):
            liked = [choice for choice in ("create", "shell") if choice in choices]
            if liked or name in tool.required:
                arguments[name] = (liked or choices)[0]
        elif key in values:
            arguments[name] = [values[key]] if schema.get("type") == "array" else values[key]
        elif name in tool.required:
            arguments[name] = example(schema)
    return arguments


def example(schema: dict):
    """Returns a value that a schema allows."""
    kind = str(schema.get("type", "string")).lower()
    if "enum" in schema:
        return schema["enum"][0]
    if kind == "object":
        return {name: example(inner) for name, inner in schema.get("properties", {}).items()}
    return {"array": [], "boolean": False, "integer": 1, "number": 1}.get(kind, "Write a file")
