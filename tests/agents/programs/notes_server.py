"""An MCP server over standard input and output, with one tool, `lookup`."""

import json
import sys

TOOL = {"name": "lookup", "description": "Looks a word up in the notes.",
        "inputSchema": {"type": "object", "required": ["word"],
                        "properties": {"word": {"type": "string"}}}}


def result(request: dict):
    method = request["method"]
    if method == "initialize":
        return {"protocolVersion": request["params"]["protocolVersion"],
                "capabilities": {"tools": {}}, "serverInfo": {"name": "notes", "version": "1"}}
    if method == "tools/list":
        return {"tools": [TOOL]}
    if method == "tools/call":
        word = request["params"]["arguments"]["word"]
        return {"content": [{"type": "text", "text": f"{word}: a greeting"}]}
    return {}


for line in sys.stdin:
    message = json.loads(line)
    if "id" in message and "method" in message:
        answer = {"jsonrpc": "2.0", "id": message["id"], "result": result(message)}
        print(json.dumps(answer), flush=True)
