"""What a scripted model reads in a request of any provider: the tools and the conversation."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Tool:
    """A tool that the agent has."""

    name: str
    members: dict[str, dict] = field(default_factory=dict)
    required: list[str] = field(default_factory=list)


def read_tools(body) -> list[Tool]:
    """Returns all tools, also those in a namespace or in an item of the input."""
    if isinstance(body, list):
        return [tool for item in body for tool in read_tools(item)]
    if not isinstance(body, dict):
        return []
    tools = []
    for key in ("tools", "functionDeclarations", "function_declarations"):
        for item in body.get(key) or []:
            tools += [read_tool(item)] + read_tools(item)
    return [tool for tool in tools + read_tools(body.get("input")) if tool.name]


def read_tool(item: dict) -> Tool:
    item = item.get("function") if isinstance(item.get("function"), dict) else item
    schema = {}
    for key in ("input_schema", "parameters", "parametersJsonSchema"):
        if isinstance(item.get(key), dict):
            schema = item[key]
    return Tool(item.get("name") or "", schema.get("properties") or {}, schema.get("required") or [])


def tool_names(body) -> set[str]:
    """Returns the names of all tools."""
    return {tool.name for tool in read_tools(body)}


class Conversation:
    """The turns of a request."""

    def __init__(self, body: dict):
        #: The number of results of tools.
        self.results = 0
        self.user_texts: list[str] = []
        self.model_texts: list[str] = []
        for key in ("messages", "input", "contents"):
            items = body.get(key)
            for item in items if isinstance(items, list) else []:
                if isinstance(item, dict):
                    self.add(item)

    def add(self, item: dict) -> None:
        kind, role = str(item.get("type", "")), item.get("role", "")
        if role == "tool" or kind.endswith("_call_output"):
            self.results += 1
            return
        parts = item.get("content", item.get("parts"))
        parts = [{"text": parts}] if isinstance(parts, str) else parts or []
        parts = [part for part in parts if isinstance(part, dict)]
        self.results += sum(is_result(part) for part in parts)
        texts = [str(part["text"]) for part in parts if part.get("text")]
        if role in ("assistant", "model"):
            self.model_texts += texts
        elif role == "user":
            self.user_texts += texts

    def user_said(self, text: str) -> bool:
        return any(text in said for said in self.user_texts)

    def model_said(self, text: str) -> bool:
        return any(text in said for said in self.model_texts)


def is_result(part: dict) -> bool:
    return part.get("type") in ("tool_result", "tool-result") or "functionResponse" in part


def answer_schema(body: dict):
    """Returns the schema that the request asks its answer to have; `None` without one."""
    config = body.get("generationConfig") or {}
    schema = config.get("responseJsonSchema") or config.get("responseSchema")
    schema = schema or ((body.get("output_config") or {}).get("format") or {}).get("schema")
    schema = schema or ((body.get("text") or {}).get("format") or {}).get("schema")
    response = body.get("response_format") or {}
    return schema or (response.get("json_schema") or {}).get("schema")
