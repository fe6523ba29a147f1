"""A program with the OpenAI Agents SDK: one prompt, with a shell and the MCP servers of a file."""

import asyncio
import json
import os
import subprocess
from contextlib import AsyncExitStack
from pathlib import Path

from agents import Agent, Runner, function_tool
from agents.mcp import MCPServerStdio


@function_tool
def shell(command: str) -> str:
    """Runs a command."""
    return subprocess.run(command, shell=True, text=True, stdout=subprocess.PIPE).stdout


async def main() -> None:
    settings = json.loads((Path.home() / "servers.json").read_text())["mcpServers"]
    async with AsyncExitStack() as stack:
        servers = [
            await stack.enter_async_context(MCPServerStdio(
                name=name, client_session_timeout_seconds=60,
                params={"command": server["command"], "args": server["args"]}))
            for name, server in settings.items()]
        agent = Agent("Writer", tools=[shell], mcp_servers=servers, model="gpt-4o")
        result = Runner.run_streamed(agent, os.environ["PROMPT"])
        async for _ in result.stream_events():
            pass
        print(result.final_output)


asyncio.run(main())
