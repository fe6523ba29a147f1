"""An MCP server with the tools, resources and prompts that the public conformance suite calls, by
MCP's own SDK, on a free port that it prints, until its input ends; with `--stdio`, over stdio."""

import base64
import logging
import socket
import sys
import threading

import uvicorn
from mcp.server.mcpserver import Context, MCPServer
from mcp.server.mcpserver.prompts.base import UserMessage
from mcp.types import (AudioContent, Completion, EmbeddedResource, ImageContent, SamplingMessage,
                       TextContent, TextResourceContents)
from pydantic import BaseModel, Field

logging.disable(logging.CRITICAL)
server = MCPServer("everything", version="1")
PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n" + bytes(24)).decode()
WAV = base64.b64encode(b"RIFF\x24\0\0\0WAVEfmt " + bytes(24)).decode()
TEXT = TextContent(type="text", text="This is a simple text response for testing.")
IMAGE = ImageContent(type="image", data=PNG, mime_type="image/png")


def embedded(uri: str) -> EmbeddedResource:
    contents = TextResourceContents(uri=uri, mime_type="text/plain", text="This is an embedded resource.")
    return EmbeddedResource(type="resource", resource=contents)


@server.tool(structured_output=False)
def test_simple_text():
    """Returns a text."""
    return [TEXT]


@server.tool(structured_output=False)
def test_image_content():
    """Returns an image."""
    return [IMAGE]


@server.tool(structured_output=False)
def test_audio_content():
    """Returns a sound."""
    return [AudioContent(type="audio", data=WAV, mime_type="audio/wav")]


@server.tool(structured_output=False)
def test_embedded_resource():
    """Returns a resource."""
    return [embedded("test://embedded-resource")]


@server.tool(structured_output=False)
def test_multiple_content_types():
    """Returns a text, an image and a resource."""
    return [TEXT, IMAGE, embedded("test://mixed-content-resource")]


@server.tool(structured_output=False)
async def test_tool_with_logging(context: Context):
    """Sends messages of a log."""
    for word in ("started", "processing", "completed"):
        await context.info(f"Tool {word}")
    return "logged"


@server.tool(structured_output=False)
async def test_tool_with_progress(context: Context):
    """Reports its progress."""
    for progress in (0, 50, 100):
        await context.report_progress(progress, 100, f"{progress} of 100")
    return "done"


@server.tool(structured_output=False)
def test_error_handling():
    """Fails."""
    raise ValueError("This tool intentionally returns an error for testing")


@server.tool(structured_output=False)
async def test_sampling(prompt: str, context: Context):
    """Asks the client's model."""
    message = SamplingMessage(role="user", content=TextContent(type="text", text=prompt))
    # In the stream of the call: a GET stream is not bound to a session.
    answer = await context.session.create_message(messages=[message], max_tokens=100,
                                                  related_request_id=context.request_id)
    return f"LLM response: {getattr(answer.content, 'text', answer.content)}"


class Answer(BaseModel):
    username: str = Field(description="User's response")
    email: str = Field(description="User's email")


@server.tool(structured_output=False)
async def test_elicitation(message: str, context: Context):
    """Asks the user."""
    answer = await context.elicit(message, Answer)
    return f"User response: {answer.action}"


@server.resource("test://static-text", mime_type="text/plain")
def static_text() -> str:
    return "This is the content of the static text resource."


@server.resource("test://static-binary", mime_type="image/png")
def static_binary() -> bytes:
    return base64.b64decode(PNG)


@server.resource("test://template/{id}/data", mime_type="application/json")
def template(id: str) -> str:
    return f'{{"id": "{id}", "templateTest": true, "data": "Data for ID: {id}"}}'


@server.prompt()
def test_simple_prompt():
    return "This is a simple prompt for testing."


@server.prompt()
def test_prompt_with_arguments(arg1: str, arg2: str):
    return f"Prompt with arguments: arg1='{arg1}', arg2='{arg2}'"


@server.prompt()
def test_prompt_with_embedded_resource(resourceUri: str):
    return [UserMessage(embedded(resourceUri)), UserMessage("Please process the embedded resource above.")]


@server.prompt()
def test_prompt_with_image():
    return [UserMessage(IMAGE), UserMessage("Please analyze the image above.")]


@server.completion()
async def complete(_ref, argument, _context):
    return Completion(values=[f"{argument.value}1", f"{argument.value}2"], total=2, has_more=False)


def main() -> None:
    if "--stdio" in sys.argv:
        return server.run("stdio")
    listener = socket.create_server(("127.0.0.1", 0))
    running = uvicorn.Server(uvicorn.Config(server.streamable_http_app(), log_level="error"))
    threading.Thread(target=running.run, kwargs={"sockets": [listener]}, daemon=True).start()
    print(listener.getsockname()[1], flush=True)
    sys.stdin.read()


main()
