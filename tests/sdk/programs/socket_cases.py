"""Autobahn's cases of WebSockets, by kosoku; prints the verdicts on the messages and on the close, by case.

usage: socket_cases.py list
       socket_cases.py client CASE...    as the client of a server that echoes messages, at URL/CASE
       socket_cases.py server CASE...    as the server of a client that echoes messages; prints its port first
The URL is $CASES_URL, or else $LOOMREC_URL/cases.
"""

import asyncio
import json
import os
import sys

from kosoku import FailureError, run_fuzzingclient, run_fuzzingserver
from kosoku.cases import CASES

AT_ONCE = 8


def verdicts(results: list) -> dict[str, list[str]]:
    return {result.case_id: [result.behavior.value, result.behavior_close.value] for result in results}


async def run_client(url: str, cases: list[str]) -> dict[str, list[str]]:
    gate = asyncio.Semaphore(AT_ONCE)

    async def run(case: str) -> list:
        async with gate:
            try:
                return await run_fuzzingclient(f"{url}/{case}", [case])
            except FailureError as failure:
                return failure.results

    return verdicts([result for results in await asyncio.gather(*map(run, cases)) for result in results])


async def run_server(cases: list[str]) -> dict[str, list[str]]:
    async with run_fuzzingserver(cases, host="127.0.0.1", port=0) as server:
        print(server.port, flush=True)
        try:
            return verdicts(await server.get_result())
        except FailureError as failure:
            return verdicts(failure.results)


async def main(side: str, *cases: str) -> None:
    if side == "list":
        seen = [*CASES]
    elif side == "client":
        url = os.environ.get("CASES_URL") or f"{os.environ['LOOMREC_URL']}/cases"
        seen = await run_client(url.replace("http", "ws", 1), [*cases])
    else:
        seen = await run_server([*cases])
    print(json.dumps(seen), flush=True)


asyncio.run(main(*sys.argv[1:]))
os._exit(0)  # a thread of kosoku's sometimes aborts the end of the interpreter
