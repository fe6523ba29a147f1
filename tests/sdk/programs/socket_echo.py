"""Sends each message of a WebSocket back.

usage: socket_echo.py server    prints its port first
       socket_echo.py client NUMBER...    in these of Autobahn's cases, counted from 1; prints what it saw in each
The URL is $CASES_URL, or else $LOOMREC_URL/cases.
"""

import asyncio
import hashlib
import json
import logging
import os
import sys

# Cases of group 9 have messages of 65,536 fragments. The library reads this when it is loaded.
os.environ["WEBSOCKETS_MAX_FRAGMENTS"] = "100000"

from websockets.asyncio.client import connect
from websockets.asyncio.server import serve
from websockets.exceptions import ConnectionClosed

AT_ONCE = 8
#: No compression, no pings of its own.
PLAIN = {"compression": None, "max_size": None, "ping_interval": None}


async def echo(connection) -> dict:
    """Sends back what comes until the end; returns the digest of the messages, and the close."""
    count, digest = 0, hashlib.sha256()
    try:
        async for message in connection:
            count += 1
            digest.update(message.encode() if isinstance(message, str) else message)
            await connection.send(message)
    except ConnectionClosed:
        pass
    return {"messages": count, "digest": digest.hexdigest(),
            "close": [connection.close_code, connection.close_reason]}


async def run_server() -> None:
    logging.disable()  # broken frames are expected
    async with serve(echo, "127.0.0.1", 0, **PLAIN) as server:
        print(server.sockets[0].getsockname()[1], flush=True)
        await server.serve_forever()


async def run_client(url: str, numbers: list[str]) -> None:
    gate = asyncio.Semaphore(AT_ONCE)

    async def run(path: str) -> dict:
        async with gate, connect(f"{url}/{path}", proxy=None, **PLAIN) as connection:
            return await echo(connection)

    seen = await asyncio.gather(*(run(f"runCase?case={number}&agent=echo") for number in numbers))
    await run("updateReports?agent=echo")
    print(json.dumps(seen))


async def main(side: str, *numbers: str) -> None:
    if side == "server":
        await run_server()
    else:
        url = os.environ.get("CASES_URL") or f"{os.environ['LOOMREC_URL']}/cases"
        await run_client(url.replace("http", "ws", 1), [*numbers])


asyncio.run(main(*sys.argv[1:]))
