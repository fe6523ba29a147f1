"""Connect to a provider's own address by a client that uses no proxy of its environment.

usage: escapes.py aiohttp|httpx|websockets
For `websockets`, PYTHONPATH leads to a version below 15.
"""

import asyncio
import sys

from show import attempt, emit

URL = "https://api.openai.com/v1/models"


def aiohttp():
    import aiohttp

    async def get():
        async with aiohttp.ClientSession() as session, session.get(URL) as answer:
            return answer.status

    return asyncio.run(get())


def httpx():
    import httpx
    return httpx.Client(trust_env=False).get(URL).status_code


def websockets():
    from websockets.sync.client import connect
    with connect("wss://api.openai.com/v1/realtime?model=gpt-realtime"):
        return "opened"


emit(attempt(globals()[sys.argv[1]]))
