"""Uses the tools of `mcp_server.py` with MCP's own client: argv is the mode of the client, and a word."""

import json
import os
import sys

import anyio
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError


async def main(mode: str, word: str) -> None:
    seen: dict = {"progress": []}

    async def progress(done: float, total: float | None, message: str | None) -> None:
        seen["progress"].append([done, total, message])

    async def call(tool: str, **arguments) -> dict:
        try:
            result = await client.call_tool(tool, arguments, progress_callback=progress if tool == "weave" else None)
        except MCPError as error:
            return {"error": [error.error.code, error.error.message]}
        return {"is_error": result.is_error, "text": [part.text for part in result.content]}

    async def prompt(name: str) -> list:
        try:
            return [message.model_dump() for message in (await client.get_prompt(name)).messages]
        except MCPError as error:
            return [error.error.code, error.error.message]

    async with Client(os.environ["LOOMREC_URL"] + "/tools/mcp", mode=mode,
                      read_timeout_seconds=float(os.environ.get("MCP_TIMEOUT", "60"))) as client:
        seen["version"] = client.protocol_version
        seen["tools"] = [tool.name for tool in (await client.list_tools()).tools]
        seen["calls"] = [
            await call("look_up", word=word),
            await call("look_up", word=word),
            await call("tear", reason="worn"),
            await call("weave", rows=3),
            await call("no_such_tool", a=1),
        ]
        seen["prompt"] = await prompt("no_such_prompt")
    print(json.dumps(seen))


anyio.run(main, *sys.argv[1:])
