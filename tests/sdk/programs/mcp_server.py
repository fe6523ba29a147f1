"""Serves tools with MCP's own SDK, on a free port that it prints, until its input ends; with `--stdio`, over
stdio."""

import logging
import socket
import sys
import threading

import uvicorn
from mcp.server.mcpserver import Context, MCPServer

logging.disable(logging.CRITICAL)
server = MCPServer("looms")


@server.tool()
def look_up(word: str) -> str:
    """Looks a word up."""
    return f"{word}: part of a loom"


@server.tool()
def tear(reason: str) -> str:
    """Fails."""
    raise ValueError(f"torn: {reason}")


@server.tool()
async def weave(rows: int, context: Context) -> str:
    """Weaves, and reports each row."""
    for row in range(1, rows + 1):
        await context.report_progress(row, rows, f"row {row}")
    return f"{rows} rows"


def main() -> None:
    if "--stdio" in sys.argv:
        return server.run("stdio")
    listener = socket.create_server(("127.0.0.1", 0))
    app = server.streamable_http_app(json_response="--json" in sys.argv, stateless_http="--stateless" in sys.argv)
    running = uvicorn.Server(uvicorn.Config(app, log_level="error"))
    threading.Thread(target=running.run, kwargs={"sockets": [listener]}, daemon=True).start()
    print(listener.getsockname()[1], flush=True)
    sys.stdin.read()


main()
