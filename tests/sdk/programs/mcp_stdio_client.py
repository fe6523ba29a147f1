"""Calls the tools of a server over stdio with MCP's own client: argv is a list of calls as JSON, and the words of
the server's command."""

import json
import sys

import anyio
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.shared.exceptions import MCPError


async def main(calls: str, command: str, *args: str) -> None:
    seen: dict = {"progress": [], "calls": []}

    async def progress(done: float, total: float | None, _message: str | None) -> None:
        seen["progress"].append([done, total])

    # As most programs do, it gives the server no variables of its own.
    async with stdio_client(StdioServerParameters(command=command, args=list(args))) as streams:
        async with ClientSession(*streams) as session:
            seen["server"] = (await session.initialize()).server_info.name
            seen["tools"] = [tool.name for tool in (await session.list_tools()).tools]
            for tool, arguments in json.loads(calls):
                try:
                    result = await session.call_tool(tool, arguments, progress_callback=progress)
                    seen["calls"].append(result.model_dump(mode="json", exclude_none=True))
                except MCPError as error:
                    seen["calls"].append([error.error.code, error.error.message])
    print(json.dumps(seen))


anyio.run(main, *sys.argv[1:])
