"""A program with the Claude Agent SDK: one prompt, with tools."""

import asyncio
import os

from claude_agent_sdk import ClaudeAgentOptions, query


async def main() -> None:
    options = ClaudeAgentOptions(permission_mode="acceptEdits", allowed_tools=["Bash", "Write"])
    async for message in query(prompt=os.environ["PROMPT"], options=options):
        print(type(message).__name__)


asyncio.run(main())
