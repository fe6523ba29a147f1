"""A scripted upstream on loopback that plays the model behind a coding agent.

It speaks Anthropic Messages, OpenAI chat completions and Responses, and Gemini
generateContent, streamed or not. A request without a tool result gets a tool call that
writes `hello.txt` in the agent's working directory, by its absolute path, as real models
do; a request with a tool result gets a final text. Ids are random, so that nothing in a
recording is equal by chance.
"""

from __future__ import annotations

import json
import secrets
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

CONTENT = "hello from the model\n"
EDIT = f"hello.txt\n```\n<<<<<<< SEARCH\n=======\n{CONTENT}>>>>>>> REPLACE\n```\n"
FINAL = "I wrote hello.txt. Done."


class Upstream:
    """The listener. `calls` has one line for each request."""

    def __init__(self, directory: str, uses_shell: bool = False):
        self.directory, self.uses_shell = directory, uses_shell
        self.calls: list[str] = []
        self.bodies: list[bytes] = []
        upstream = self

        class Handler(_Handler):
            owner = upstream

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    def plan(self, body: dict) -> Plan:
        """Returns what the model says to this request."""
        return Plan(body, self)

    def stop(self) -> None:
        self.server.shutdown()
        self.server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    owner: Upstream

    def log_message(self, *_):
        pass

    def do_HEAD(self):
        self.owner.calls.append(f"HEAD {self.path}")
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def do_GET(self):
        self.owner.calls.append(f"GET {self.path}")
        if self.headers.get("upgrade"):
            self.json({"error": {"message": "upgrade to HTTP"}}, 426)
        elif "models" in self.path:
            self.json({"object": "list", "data": [], "models": []})
        else:
            self.json({})

    def do_POST(self):
        length = self.headers.get("content-length")
        raw = self.rfile.read(int(length)) if length else self.chunked()
        path = self.path.split("?")[0]
        try:
            body = json.loads(raw or b"{}")
        except ValueError:
            body = {}
        self.owner.calls.append(f"POST {path} {len(raw)} {self.headers.get('user-agent', '')[:20]}")
        self.owner.bodies.append(raw)
        plan = self.owner.plan(body)
        if path.endswith("/messages"):
            self.answer(body, anthropic(body, plan), anthropic_whole(body, plan))
        elif path.endswith("/messages/count_tokens"):
            self.json({"input_tokens": 1234})
        elif path.endswith("/chat/completions"):
            self.answer(body, chat(body, plan), chat_whole(body, plan))
        elif path.endswith("/responses"):
            self.answer(body, *responses(body, plan))
        elif path.endswith(":streamGenerateContent"):
            self.sse([(None, part) for part in gemini(plan)])
        elif path.endswith(":generateContent"):
            self.json(gemini(plan)[-1])
        elif path.endswith(":countTokens"):
            self.json({"totalTokens": 1234})
        else:
            self.json({})

    def chunked(self) -> bytes:
        body = b""
        if self.headers.get("transfer-encoding", "") != "chunked":
            return body
        while size := int(self.rfile.readline().split(b";")[0], 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def answer(self, body, events, whole):
        if body.get("stream"):
            self.sse(events)
        else:
            self.json(whole)

    def json(self, value, status=200):
        text = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def sse(self, events):
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for name, data in events:
            data = data if isinstance(data, str) else json.dumps(data)
            text = (f"event: {name}\n" if name else "") + f"data: {data}\n\n"
            self.wfile.write(f"{len(text.encode()):x}\r\n{text}\r\n".encode())
            self.wfile.flush()
        self.wfile.write(b"0\r\n\r\n")


class Plan:
    """What the model says to a request: a tool call (`tool`, `arguments`) or a `text`."""

    def __init__(self, body: dict, owner: Upstream):
        self.tool, self.arguments, self.text = None, None, FINAL
        self.is_custom = False
        text = json.dumps(body)
        names = tool_names(body)
        schema = answer_schema(body)
        if schema is not None:
            self.text = json.dumps(example(schema))
        elif "SEARCH/REPLACE" in text or "<<<<<<< SEARCH" in text:
            self.text = EDIT
        elif not names:
            self.text = json.dumps({"title": "Write a file"}) if '"title"' in text.replace('\\"', '"') \
                else "Write a file"
        elif not has_tool_result(body):
            self.choose(names, owner)
        elif "submit_and_exit" in names:
            self.tool, self.arguments = "submit_and_exit", {"summary": FINAL, "verified": True}

    def choose(self, names: set[str], owner: Upstream) -> None:
        """Calls a tool that writes hello.txt, by the absolute path."""
        directory, path = owner.directory, f"{owner.directory}/hello.txt"
        command = f"printf '{CONTENT[:-1]}\\n' > {path} && cat {directory}/README.md"
        in_directory = {"cmd": command, "workdir": directory}
        writers = [
            ("Write", {"file_path": path, "content": CONTENT}),
            ("write_file", {"file_path": path, "content": CONTENT}),
            ("write", {"filePath": path, "content": CONTENT}),
            ("editor", {"path": path, "new_text": CONTENT}),
        ]
        shells = [
            ("Bash", {"command": command, "description": "Writes a file"}),
            ("bash", {"command": command, "description": "Writes a file"}),
            ("run_shell_command", {"command": command, "description": "Writes a file",
                                   "is_background": False}),
            ("run_commands", {"commands": [command]}),
            ("exec_command", in_directory),
            ("exec", f"const r = await tools.exec_command({json.dumps(in_directory)});\n"
                     "text(r.output);"),
        ]
        choices = shells + writers if owner.uses_shell else writers + shells
        for name, arguments in choices:
            if name in names:
                self.tool, self.arguments = name, arguments
                self.is_custom = isinstance(arguments, str)
                return
        self.text = f"No tool that writes a file among {sorted(names)}"


def tool_names(body) -> set[str]:
    """Returns the names of all tools, also of those in a namespace or in an item of the input."""
    if isinstance(body, list):
        return set().union(*map(tool_names, body))
    if not isinstance(body, dict):
        return set()
    names = set()
    for key in ("tools", "functionDeclarations", "function_declarations"):
        for tool in body.get(key) or []:
            names |= {tool.get("name"), tool.get("function", {}).get("name")} | tool_names(tool)
    return {name for name in names | tool_names(body.get("input")) if name}


def has_tool_result(body: dict) -> bool:
    """Whether the last turn of the conversation holds the result of a tool."""
    for message in body.get("messages") or []:
        if message.get("role") == "tool":
            return True
        if isinstance(message.get("content"), list):
            if any(part.get("type") == "tool_result" for part in message["content"]):
                return True
    for item in body.get("input") or []:
        if isinstance(item, dict) and str(item.get("type", "")).endswith("_call_output"):
            return True
    for content in body.get("contents") or []:
        if any("functionResponse" in part for part in content.get("parts") or []):
            return True
    return False


def answer_schema(body: dict):
    """Returns the schema that the request asks its answer to have; `None` without one."""
    config = body.get("generationConfig") or {}
    schema = config.get("responseJsonSchema") or config.get("responseSchema")
    schema = schema or ((body.get("output_config") or {}).get("format") or {}).get("schema")
    schema = schema or ((body.get("text") or {}).get("format") or {}).get("schema")
    response = body.get("response_format") or {}
    return schema or (response.get("json_schema") or {}).get("schema")


def example(schema: dict):
    kind = str(schema.get("type", "string")).lower()
    if "enum" in schema:
        return schema["enum"][0]
    if kind == "object":
        return {name: example(inner) for name, inner in schema.get("properties", {}).items()}
    return {"array": [], "boolean": False, "integer": 1, "number": 1}.get(kind, "Write a file")


def pieces(text: str) -> list[str]:
    """Cuts a text into deltas of 7 letters, so that a path is in several."""
    return [text[at:at + 7] for at in range(0, len(text), 7)]


# Anthropic Messages


def anthropic_content(plan: Plan) -> dict:
    if plan.tool:
        return {"type": "tool_use", "id": f"toolu_{secrets.token_hex(12)}", "name": plan.tool,
                "input": plan.arguments}
    return {"type": "text", "text": plan.text}


def anthropic_whole(body: dict, plan: Plan) -> dict:
    return {"id": f"msg_{secrets.token_hex(12)}", "type": "message", "role": "assistant",
            "model": body.get("model"), "content": [anthropic_content(plan)],
            "stop_reason": "tool_use" if plan.tool else "end_turn", "stop_sequence": None,
            "usage": {"input_tokens": 100, "output_tokens": 20}}


def anthropic(body: dict, plan: Plan) -> list:
    whole = anthropic_whole(body, plan)
    block = whole["content"][0]
    start = {**whole, "content": [], "stop_reason": None}
    if plan.tool:
        empty, deltas = {**block, "input": {}}, [
            {"type": "input_json_delta", "partial_json": piece}
            for piece in pieces(json.dumps(plan.arguments))]
    else:
        empty, deltas = {**block, "text": ""}, [
            {"type": "text_delta", "text": piece} for piece in pieces(plan.text)]
    events = [{"type": "message_start", "message": start},
              {"type": "content_block_start", "index": 0, "content_block": empty}]
    events += [{"type": "content_block_delta", "index": 0, "delta": delta} for delta in deltas]
    events += [{"type": "content_block_stop", "index": 0},
               {"type": "message_delta", "usage": {"output_tokens": 20},
                "delta": {"stop_reason": whole["stop_reason"], "stop_sequence": None}},
               {"type": "message_stop"}]
    return [(event["type"], event) for event in events]


# OpenAI chat completions


def chat_whole(body: dict, plan: Plan) -> dict:
    message: dict = {"role": "assistant", "content": None if plan.tool else plan.text}
    if plan.tool:
        message["tool_calls"] = [{
            "id": f"call_{secrets.token_hex(12)}", "type": "function",
            "function": {"name": plan.tool, "arguments": json.dumps(plan.arguments)}}]
    return {"id": f"chatcmpl-{secrets.token_hex(12)}", "object": "chat.completion",
            "created": 1700000000, "model": body.get("model"),
            "choices": [{"index": 0, "message": message,
                         "finish_reason": "tool_calls" if plan.tool else "stop"}],
            "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}}


def chat(body: dict, plan: Plan) -> list:
    whole = chat_whole(body, plan)
    head = {"id": whole["id"], "object": "chat.completion.chunk", "created": whole["created"],
            "model": whole["model"]}

    def chunk(delta, reason=None):
        return None, {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}

    message = whole["choices"][0]["message"]
    if plan.tool:
        call = message["tool_calls"][0]
        first = {**call, "index": 0, "function": {"name": plan.tool, "arguments": ""}}
        events = [chunk({"role": "assistant", "content": None, "tool_calls": [first]})]
        events += [chunk({"tool_calls": [{"index": 0, "function": {"arguments": piece}}]})
                   for piece in pieces(call["function"]["arguments"])]
    else:
        events = [chunk({"role": "assistant", "content": ""})]
        events += [chunk({"content": piece}) for piece in pieces(plan.text)]
    events.append(chunk({}, whole["choices"][0]["finish_reason"]))
    events.append((None, {**head, "choices": [], "usage": whole["usage"]}))
    return events + [(None, "[DONE]")]


# OpenAI Responses


def responses(body: dict, plan: Plan):
    """Returns the events and the whole answer."""
    if plan.tool and plan.is_custom:
        item = {"type": "custom_tool_call", "id": f"ctc_{secrets.token_hex(12)}",
                "status": "completed", "call_id": f"call_{secrets.token_hex(12)}",
                "name": plan.tool, "input": plan.arguments}
        field, kind = "input", "response.custom_tool_call_input"
    elif plan.tool:
        item = {"type": "function_call", "id": f"fc_{secrets.token_hex(12)}",
                "status": "completed", "call_id": f"call_{secrets.token_hex(12)}",
                "name": plan.tool, "arguments": json.dumps(plan.arguments)}
        field, kind = "arguments", "response.function_call_arguments"
    else:
        part = {"type": "output_text", "text": plan.text, "annotations": []}
        item = {"type": "message", "id": f"msg_{secrets.token_hex(12)}", "role": "assistant",
                "status": "completed", "content": [part]}
        field, kind = None, "response.output_text"
    whole = {"id": f"resp_{secrets.token_hex(12)}", "object": "response", "status": "completed",
             "created_at": 1700000000, "model": body.get("model"), "output": [item],
             "usage": {"input_tokens": 100, "output_tokens": 20, "total_tokens": 120,
                       "input_tokens_details": {"cached_tokens": 0},
                       "output_tokens_details": {"reasoning_tokens": 0}}}
    started = {**whole, "status": "in_progress", "output": [], "usage": None}
    place = {"item_id": item["id"], "output_index": 0}
    empty = {**item, "status": "in_progress"}
    events = [{"type": "response.created", "response": started}]
    if field:
        empty[field] = ""
        events.append({"type": "response.output_item.added", "output_index": 0, "item": empty})
        events += [{"type": f"{kind}.delta", **place, "delta": piece}
                   for piece in pieces(item[field])]
        events.append({"type": f"{kind}.done", **place, field: item[field]})
    else:
        empty["content"] = []
        place["content_index"] = 0
        events.append({"type": "response.output_item.added", "output_index": 0, "item": empty})
        events.append({"type": "response.content_part.added", **place, "part": {**part, "text": ""}})
        events += [{"type": f"{kind}.delta", **place, "delta": piece}
                   for piece in pieces(plan.text)]
        events.append({"type": f"{kind}.done", **place, "text": plan.text})
        events.append({"type": "response.content_part.done", **place, "part": part})
    events.append({"type": "response.output_item.done", "output_index": 0, "item": item})
    events.append({"type": "response.completed", "response": whole})
    for number, event in enumerate(events):
        event["sequence_number"] = number
    return [(event["type"], event) for event in events], whole


# Gemini


def gemini(plan: Plan) -> list:
    usage = {"promptTokenCount": 100, "candidatesTokenCount": 20, "totalTokenCount": 120}
    head = {"modelVersion": "scripted", "responseId": secrets.token_urlsafe(12),
            "usageMetadata": usage}

    def answer(parts, reason=None):
        candidate = {"content": {"role": "model", "parts": parts}, "index": 0}
        if reason:
            candidate["finishReason"] = reason
        return {**head, "candidates": [candidate]}

    if plan.tool:
        call = {"functionCall": {"name": plan.tool, "args": plan.arguments},
                "thoughtSignature": secrets.token_urlsafe(24) + "=" * 0}
        return [answer([call], "STOP")]
    return [answer([{"text": plan.text}], "STOP")]

