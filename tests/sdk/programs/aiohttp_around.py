"""Make a call with aiohttp, which uses no proxy of the environment, at the provider's own address.

usage: aiohttp_around.py PORT PROMPT
The provider's name leads to PORT of this machine, so that no real server gets the call.
"""

import asyncio
import sys

import aiohttp
from aiohttp.abc import AbstractResolver
from show import emit


class Here(AbstractResolver):
    async def resolve(self, host, port=0, family=0):
        return [{"hostname": host, "host": "127.0.0.1", "port": int(sys.argv[1]), "family": 2,
                 "proto": 0, "flags": 0}]

    async def close(self):
        pass


async def main():
    body = {"model": "gpt-4o-mini", "messages": [{"role": "user", "content": sys.argv[2]}]}
    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(resolver=Here())) as session:
        try:
            async with session.post("https://api.openai.com/v1/chat/completions", json=body) as answer:
                emit({"status": answer.status})
        except aiohttp.ClientError as error:
            emit({"failed": type(error).__name__})


asyncio.run(main())
