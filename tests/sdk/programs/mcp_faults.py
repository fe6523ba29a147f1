"""Calls a tool twice with MCP's own client, between two lists of the tools: argv is the server's command over stdio,
nothing for HTTP. Prints what each call and each list came to."""

import json
import os
import sys
import time

import anyio
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

PATIENCE = 3  # seconds: the timeout of each call


async def seen(call, shown) -> dict:
    """What became of a call, and how long it took."""
    began = time.monotonic()
    try:
        with anyio.fail_after(PATIENCE * 4):
            came = shown(await call())
    except Exception as error:
        inner = getattr(error, "error", None)
        came = {"class": type(error).__name__, "code": getattr(inner, "code", None), "message": str(error)}
    return came | {"seconds": time.monotonic() - began}


def result_of(result) -> dict:
    return {"is_error": result.is_error, "text": [getattr(part, "text", part.type) for part in result.content]}


async def main(*command: str) -> None:
    url = os.environ["LOOMREC_URL"] + "/tools/mcp"
    transport = stdio_client(StdioServerParameters(command=command[0], args=list(command[1:]))) if command \
        else streamable_http_client(url)
    document: dict = {}
    async with transport as streams, ClientSession(*streams[:2]) as session:
        await session.initialize()

        async def tools():
            return await seen(session.list_tools, lambda it: {"tools": [tool.name for tool in it.tools]})

        async def call():
            return await seen(lambda: session.call_tool("look_up", {"word": "weft"}, PATIENCE), result_of)

        document = {"before": await tools(), "calls": [await call(), await call()], "after": await tools()}
    print(json.dumps(document))


anyio.run(main, *sys.argv[1:])
