"""An agent of the OpenAI Agents SDK, with the look-up tools of two MCP servers, `search` and `mirror`.

usage: agent_with_tools.py PROMPT SECONDS [--silent]
SECONDS is the timeout of a tool's call. The program tells loomrec that the agent came to an end of its own, unless
it is to be silent: what it recovered from with another tool, or with a clean error, is not seen in its calls.
Prints the last answer.
"""

import asyncio
import json
import os
import sys
from contextlib import AsyncExitStack, suppress
from urllib.error import HTTPError
from urllib.request import Request, urlopen

from agents import Agent, Runner, set_default_openai_api, set_tracing_disabled
from agents.mcp import MCPServerStreamableHttp

SERVERS = ("search", "mirror")
LOOMREC = os.environ["LOOMREC_URL"]


async def main(prompt: str, seconds: str, *silent: str) -> None:
    set_tracing_disabled(True)
    set_default_openai_api("chat_completions")
    async with AsyncExitStack() as stack:
        servers = [
            await stack.enter_async_context(MCPServerStreamableHttp(
                name=name, params={"url": f"{LOOMREC}/{name}/mcp"}, cache_tools_list=True,
                client_session_timeout_seconds=float(seconds)))
            for name in SERVERS]
        agent = Agent("Reader", model="gpt-4o", mcp_servers=servers, mcp_config={"include_server_in_tool_names": True})
        said = (await Runner.run(agent, prompt)).final_output
    if not silent:
        with suppress(HTTPError):  # 409: it has recovered from all
            urlopen(Request(f"{LOOMREC}/__loomrec/recovered", method="POST")).close()
    print(json.dumps({"said": said}))


asyncio.run(main(*sys.argv[1:]))
