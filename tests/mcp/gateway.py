"""Runs a program beside a gateway from streamable HTTP to an MCP server over stdio: the conformance suite calls
servers over HTTP only. Messages pass unchanged. A session has a process of the server; without a session, a
request has one for itself until it is answered. A process speaks the revision of its first message, so it gets
either messages that name a revision or others.

usage: gateway.py SERVER PROGRAM...
SERVER is the command of the server as JSON. In PROGRAM, {url} is the address of the gateway.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import socket
import subprocess
import sys
import threading
import uuid

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

logging.disable(logging.CRITICAL)
SERVER = json.loads(sys.argv[1])
SESSION = "mcp-session-id"
LINE = 64 << 20  # the longest line of the server
LAST = None  # follows the last message of a stream
HERE = ("127.0.0.1", "localhost")
REVISION = "io.modelcontextprotocol/protocolVersion"  # in a request of a revision without sessions


def is_response(message: dict) -> bool:
    return "method" not in message


class Server:
    """A process of the server."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process
        #: The messages for each open request, by its id; under `None` those that belong to no request.
        self.streams: dict[str | int | None, asyncio.Queue] = {}
        self.reading = asyncio.create_task(self.read())

    @classmethod
    async def start(cls) -> Server:
        pipe = asyncio.subprocess.PIPE
        return cls(await asyncio.create_subprocess_exec(*SERVER, stdin=pipe, stdout=pipe, limit=LINE))

    async def read(self) -> None:
        """Gives each message to its request: a response to the one that it answers, all others to the latest."""
        async for line in self.process.stdout:
            message = json.loads(line)
            is_last = is_response(message)
            key = message.get("id") if is_last else next(reversed([it for it in self.streams if it is not LAST]), LAST)
            stream = self.streams.get(key)
            if stream is not None:
                stream.put_nowait(message)
                if is_last:
                    stream.put_nowait(LAST)
        for stream in self.streams.values():
            stream.put_nowait(LAST)

    async def write(self, body: bytes) -> None:
        self.process.stdin.write(json.dumps(json.loads(body)).encode() + b"\n")
        await self.process.stdin.drain()

    async def stop(self) -> None:
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        await self.process.wait()
        await self.reading


SESSIONS: dict[str, Server] = {}
#: Processes without a session and without an open request, by whether they get messages that name a revision.
IDLE: dict[bool, list[Server]] = {True: [], False: []}
STOPPING: set[asyncio.Task] = set()


def release(server: Server, pool: list[Server], is_answered: bool) -> None:
    """Keeps a process whose request was answered for the next one, and stops any other."""
    if is_answered:
        pool.append(server)
    else:
        stopping = asyncio.create_task(server.stop())
        STOPPING.add(stopping)
        stopping.add_done_callback(STOPPING.discard)


def names_revision(message: dict) -> bool:
    params = message.get("params")
    meta = params.get("_meta") if isinstance(params, dict) else None
    return isinstance(meta, dict) and REVISION in meta


def events(server: Server, key: str | int | None, pool: list[Server] | None = None) -> StreamingResponse:
    """A stream of the messages for a request. A process without a session comes from a pool."""
    stream = server.streams[key] = asyncio.Queue()

    async def run():
        is_answered = False
        try:
            while (message := await stream.get()) is not LAST:
                is_answered = is_response(message)
                yield f"event: message\ndata: {json.dumps(message)}\n\n"
        finally:
            server.streams.pop(key, None)
            if pool is not None:
                release(server, pool, is_answered)

    return StreamingResponse(run(), media_type="text/event-stream", headers={"cache-control": "no-store"})


async def post(request: Request) -> Response:
    body = await request.body()
    message = json.loads(body)
    session = request.headers.get(SESSION)
    if session is not None and session not in SESSIONS:
        return Response(status_code=404)
    begins, pool = message.get("method") == "initialize", None
    if session is not None:
        server = SESSIONS[session]
    elif begins:
        server, session = await Server.start(), str(uuid.uuid4())
        SESSIONS[session] = server
    else:
        pool = IDLE[names_revision(message)]
        server = pool.pop() if pool else await Server.start()
    is_request = "method" in message and "id" in message
    response = events(server, message["id"], pool) if is_request else Response(status_code=202)
    if begins:
        response.headers[SESSION] = session
    await server.write(body)
    if pool is not None and not is_request:
        release(server, pool, True)
    return response


async def endpoint(request: Request) -> Response:
    if request.url.hostname not in HERE:  # a page of another name may have led here
        return Response(status_code=403)
    if request.method == "POST":
        return await post(request)
    server = SESSIONS.get(request.headers.get(SESSION))
    if server is None:
        return Response(status_code=405)
    if request.method == "GET":
        return events(server, LAST)
    del SESSIONS[request.headers[SESSION]]
    await server.stop()
    return Response(status_code=200)


@contextlib.asynccontextmanager
async def lifespan(_app):
    yield
    for server in [*SESSIONS.values(), *IDLE[True], *IDLE[False]]:
        await server.stop()


def main(*program: str) -> int:
    listener = socket.create_server(("127.0.0.1", 0))
    url = f"http://127.0.0.1:{listener.getsockname()[1]}/mcp"
    app = Starlette(routes=[Route("/mcp", endpoint, methods=["GET", "POST", "DELETE"])], lifespan=lifespan)
    config = uvicorn.Config(app, log_level="critical", timeout_graceful_shutdown=1)
    running = uvicorn.Server(config)
    serving = threading.Thread(target=running.run, kwargs={"sockets": [listener]})
    serving.start()
    try:
        return subprocess.run([word.replace("{url}", url) for word in program], check=False).returncode
    finally:
        running.should_exit = True
        serving.join()


sys.exit(main(*sys.argv[2:]))
