"""Asks an MCP server for words, with MCP's own SDK: it closes each connection once it has read its response.

A call that fails is made a second time."""

import json
import os
import sys

import anyio
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError


async def look_up(session: ClientSession, word: str) -> str:
    try:
        result = await session.call_tool("look_up", {"word": word})
    except MCPError:
        result = await session.call_tool("look_up", {"word": word})
    return result.content[0].text


async def main() -> None:
    url = os.environ["LOOMREC_URL"] + "/tools/mcp"
    async with streamable_http_client(url) as (read, write), ClientSession(read, write) as session:
        await session.initialize()
        tools = [tool.name for tool in (await session.list_tools()).tools]
        said = [await look_up(session, word) for word in sys.argv[1:]]
    print(json.dumps({"tools": tools, "said": said}))


anyio.run(main)
