"""Bedrock's shapes: converse, invoke with Claude, and AWS's event stream around both."""

from __future__ import annotations

import base64
import struct
import zlib

import answers_anthropic
from wire import dump, words

MEDIA = "application/vnd.amazon.eventstream"
ERRORS = {400: "ValidationException", 403: "AccessDeniedException", 404: "ResourceNotFoundException",
          429: "ThrottlingException", 500: "InternalServerException", 503: "ServiceUnavailableException"}
TOOL = {"toolUseId": "tooluse_Paris01", "name": "get_weather", "input": {"city": "Paris", "unit": "celsius"}}
TOOL_PIECES = ['{"city": "Pa', 'ris", "unit"', ': "celsius"}']


def frame(name: str, payload: object, kind: str = "event") -> bytes:
    """One message of an event stream, with both of its checksums."""
    told = {f":{kind}-type": name, ":content-type": "application/json", ":message-type": kind}
    headers = b"".join(bytes([len(key)]) + key.encode() + b"\x07" + struct.pack(">H", len(value)) + value.encode()
                       for key, value in told.items())
    body = dump(payload)
    prelude = struct.pack(">II", 16 + len(headers) + len(body), len(headers))
    message = prelude + struct.pack(">I", zlib.crc32(prelude)) + headers + body
    return message + struct.pack(">I", zlib.crc32(message))


def prompt(body: dict) -> str:
    """The last thing the user said."""
    if "anthropic_version" in body:
        return answers_anthropic.prompt(body)
    return str(body["messages"][-1]["content"][0].get("text", ""))


def streamed(path: str, _body: dict) -> bool:
    return path.endswith("-stream")


def error(_status: int, message: str) -> dict:
    return {"message": message}


def error_headers(status: int) -> list[tuple[str, str]]:
    return [("x-amzn-errortype", ERRORS.get(status, "InternalServerException"))]


def error_event() -> bytes:
    return frame("throttlingException", {"message": "Too many requests, please wait"}, "exception")


def _calls_tools(body: dict) -> bool:
    return "toolConfig" in body and "text" in body["messages"][-1]["content"][0]


def _content(body: dict, said: str | None) -> list[dict]:
    if _calls_tools(body):
        return [{"text": "I will look that up."}, {"toolUse": TOOL}]
    return [{"text": said or f"You said “{prompt(body)}” 🙂"}]


def _end(body: dict) -> tuple[dict, dict, dict]:
    answered = 24 if _calls_tools(body) else 9
    usage = {"inputTokens": 12, "outputTokens": answered, "totalTokens": 12 + answered}
    return {"stopReason": "tool_use" if _calls_tools(body) else "end_turn"}, usage, {"latencyMs": 812}


def complete(operation: str, path: str, body: dict, said: str | None) -> dict:
    if operation == "invoke":
        return answers_anthropic.complete(operation, path, {**body, "model": _model(path)}, said)
    stop, usage, metrics = _end(body)
    return {"metrics": metrics, "output": {"message": {"content": _content(body, said), "role": "assistant"}},
            **stop, "usage": usage}


def events(operation: str, path: str, body: dict, said: str | None) -> list[bytes]:
    if operation == "invoke":
        native = answers_anthropic.steps({**body, "model": _model(path)}, said)
        native[-1]["amazon-bedrock-invocationMetrics"] = {
            "inputTokenCount": 12, "outputTokenCount": 17, "invocationLatency": 812, "firstByteLatency": 301}
        return [frame("chunk", {"bytes": base64.b64encode(dump(step)).decode(), "p": "abcdefgh"}) for step in native]
    steps: list[tuple[str, dict]] = [("messageStart", {"role": "assistant"})]
    for index, block in enumerate(_content(body, said)):
        place = {"contentBlockIndex": index}
        if "text" in block:
            deltas: list[dict] = [{"text": piece} for piece in words(block["text"])]
        else:
            start = {"toolUse": {"toolUseId": TOOL["toolUseId"], "name": TOOL["name"]}}
            steps.append(("contentBlockStart", {**place, "start": start}))
            deltas = [{"toolUse": {"input": piece}} for piece in TOOL_PIECES]
        steps += [("contentBlockDelta", {**place, "delta": delta}) for delta in deltas]
        steps.append(("contentBlockStop", place))
    stop, usage, metrics = _end(body)
    steps += [("messageStop", stop), ("metadata", {"metrics": metrics, "usage": usage})]
    # AWS pads each payload to a length that tells nothing.
    return [frame(name, {**step, "p": "abcdefghijklmnop"[:3 + n % 13]}) for n, (name, step) in enumerate(steps)]


def _model(path: str) -> str:
    return path.split("/model/")[1].split("/")[0].replace("%3A", ":").split(".")[-1]
