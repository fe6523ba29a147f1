"""OpenAI's shapes: chat, Responses, embeddings, audio, models."""

from __future__ import annotations

import base64
import hashlib
import re
import struct

from wire import dump, event, words

CREATED = 1763769600
TYPES = {400: ("invalid_request_error", None), 401: ("invalid_request_error", "invalid_api_key"),
         404: ("invalid_request_error", "model_not_found"),
         429: ("requests", "rate_limit_exceeded"), 500: ("server_error", None),
         503: ("server_error", "overloaded")}
CALLS = [("call_Paris", "get_weather", ['{"ci', 'ty":"Pa', 'ris","unit":"celsius"}']),
         ("call_Oslo", "get_weather", ['{"city":', '"Oslo"', "}"])]


def prompt(body: dict) -> str:
    """The last thing the user said."""
    said = body["input"] if "input" in body else body["messages"]
    if isinstance(said, list):
        said = [m for m in said if m.get("role") == "user"][-1]["content"]
    return said if isinstance(said, str) else "".join(part.get("text", "") for part in said)


def streamed(_path: str, body: dict) -> bool:
    return body.get("stream") is True


def error(status: int, message: str) -> dict:
    kind, code = TYPES.get(status, ("server_error", None))
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}


def error_event() -> bytes:
    return event(error(500, "The server had an error while answering"), "error")


def complete(operation: str, _path: str, body: dict, said: str | None) -> dict:
    return _response(body, said) if operation == "responses" else _chat(body, said)


def events(operation: str, _path: str, body: dict, said: str | None) -> list[bytes]:
    return _response_events(body, said) if operation == "responses" else _chat_events(body, said)


def _said(body: dict, choice: int = 0) -> str:
    if body.get("messages", [{}])[-1].get("role") == "tool":
        return "It is 18 °C in Paris and −3 °C in Oslo. 🌦️"
    return f"You said “{prompt(body)}” 🙂" + (f" (choice {choice})" if choice else "")


def _calls_tools(body: dict) -> bool:
    return bool(body.get("tools")) and body["messages"][-1]["role"] == "user"


def usage(body: dict) -> dict:
    """The tokens of a chat, by words."""
    asked = sum(len(str(m.get("content") or "").split()) for m in body["messages"])
    answered = 24 if _calls_tools(body) else 9 * body.get("n", 1)
    return {"prompt_tokens": asked, "completion_tokens": answered, "total_tokens": asked + answered,
            "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": 0, "audio_tokens": 0}}


def _envelope(body: dict, kind: str) -> dict:
    digest = hashlib.sha256(dump(body.get("messages"))).hexdigest()[:20]
    return {"id": f"chatcmpl-{digest}", "object": kind, "created": CREATED,
            "model": f"{body['model']}-2024-07-18", "service_tier": "default",
            "system_fingerprint": "fp_51db84afab"}


def _chat(body: dict, said: str | None) -> dict:
    choices = []
    for index in range(body.get("n", 1)):
        message: dict = {"role": "assistant", "content": said or _said(body, index), "refusal": None}
        finish = "stop"
        if _calls_tools(body):
            message["content"], finish = None, "tool_calls"
            message["tool_calls"] = [
                {"id": i, "type": "function", "function": {"name": n, "arguments": "".join(a)}}
                for i, n, a in CALLS]
        choices.append({"index": index, "message": message, "logprobs": None, "finish_reason": finish})
    return {**_envelope(body, "chat.completion"), "choices": choices, "usage": usage(body)}


def chunks(body: dict, said: str | None) -> list[dict]:
    """A streamed chat's chunks, without usage."""
    envelope = _envelope(body, "chat.completion.chunk")
    deltas: list[tuple[int, dict, str | None]] = []
    count = range(body.get("n", 1))
    deltas += [(i, {"role": "assistant", "content": None if _calls_tools(body) else ""}, None) for i in count]
    if _calls_tools(body):
        for index, (identity, name, pieces) in enumerate(CALLS):
            function = {"name": name, "arguments": ""}
            deltas.append((0, {"tool_calls": [{"index": index, "id": identity, "type": "function",
                                               "function": function}]}, None))
            deltas += [(0, {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}, None)
                       for piece in pieces]
    else:
        texts = [words(said or _said(body, index)) for index in count]
        for place in range(max(len(text) for text in texts)):  # choices take turns, as they do
            deltas += [(i, {"content": texts[i][place]}, None) for i in count if place < len(texts[i])]
    finish = "tool_calls" if _calls_tools(body) else "stop"
    deltas += [(index, {}, finish) for index in count]
    return [{**envelope, "choices": [{"index": i, "delta": delta, "logprobs": None, "finish_reason": end}]}
            for i, delta, end in deltas]


def frames(steps: list[dict]) -> list[bytes]:
    """Chunks as they are sent, with the mark of the end."""
    return [*(event(step) for step in steps), b"data: [DONE]\n\n"]


def _chat_events(body: dict, said: str | None) -> list[bytes]:
    steps = chunks(body, said)
    if (body.get("stream_options") or {}).get("include_usage"):
        steps = [*({**step, "usage": None} for step in steps), {**steps[0], "choices": [], "usage": usage(body)}]
    return frames(steps)


def _output(body: dict, said: str | None) -> list[dict]:
    if body.get("tools") and (isinstance(body["input"], str) or body["input"][-1].get("role") == "user"):
        return [{"type": "function_call", "id": f"fc_{call}", "call_id": call, "name": name,
                 "arguments": "".join(pieces), "status": "completed"} for call, name, pieces in CALLS]
    return [{"type": "message", "id": "msg_0a1b", "status": "completed", "role": "assistant",
             "content": [{"type": "output_text", "text": said or _said(body), "annotations": [],
                          "logprobs": []}]}]


def _response(body: dict, said: str | None, status: str = "completed") -> dict:
    done = status == "completed"
    usage = {"input_tokens": 11, "input_tokens_details": {"cached_tokens": 0}, "output_tokens": 9,
             "output_tokens_details": {"reasoning_tokens": 0}, "total_tokens": 20}
    return {"id": "resp_" + hashlib.sha256(dump(body["input"])).hexdigest()[:24], "object": "response",
            "created_at": CREATED, "status": status, "background": False, "error": None,
            "incomplete_details": None, "instructions": body.get("instructions"),
            "model": f"{body['model']}-2024-07-18", "output": _output(body, said) if done else [],
            "parallel_tool_calls": True, "previous_response_id": None, "store": True,
            "temperature": 1.0, "text": {"format": {"type": "text"}}, "tool_choice": "auto",
            "tools": [], "top_p": 1.0, "truncation": "disabled", "usage": usage if done else None,
            "metadata": {}}


def _response_events(body: dict, said: str | None) -> list[bytes]:
    final = _response(body, said)
    begun = _response(body, said, "in_progress")
    steps: list[dict] = [{"type": "response.created", "response": begun},
                         {"type": "response.in_progress", "response": begun}]
    for index, item in enumerate(final["output"]):
        empty = {"arguments": ""} if item["type"] == "function_call" else {"content": []}
        steps.append({"type": "response.output_item.added", "output_index": index,
                      "item": {**item, "status": "in_progress", **empty}})
        steps += _item_events(item, index)
        steps.append({"type": "response.output_item.done", "output_index": index, "item": item})
    steps.append({"type": "response.completed", "response": final})
    return [event({**step, "sequence_number": n}, step["type"]) for n, step in enumerate(steps)]


def _item_events(item: dict, index: int) -> list[dict]:
    place = {"item_id": item["id"], "output_index": index}
    if item["type"] == "function_call":
        pieces = next(pieces for call, _, pieces in CALLS if call == item["call_id"])
        kind = "response.function_call_arguments"
        return [*({"type": f"{kind}.delta", **place, "delta": piece} for piece in pieces),
                {"type": f"{kind}.done", **place, "name": item["name"], "arguments": item["arguments"]}]
    place["content_index"] = 0
    part = item["content"][0]
    return [{"type": "response.content_part.added", **place,
             "part": {"type": "output_text", "text": "", "annotations": [], "logprobs": []}},
            *({"type": "response.output_text.delta", **place, "delta": piece, "logprobs": []}
              for piece in words(part["text"])),
            {"type": "response.output_text.done", **place, "text": part["text"], "logprobs": []},
            {"type": "response.content_part.done", **place, "part": part}]


def embeddings(body: dict) -> dict:
    """Vectors made from each text, in the encoding that was asked for."""
    texts = body["input"] if isinstance(body["input"], list) else [body["input"]]
    data = []
    for index, text in enumerate(texts):
        digest = hashlib.sha256(text.encode()).digest()
        vector: object = [struct.unpack("<f", struct.pack("<f", (b - 128) / 997))[0] for b in digest[:12]]
        if body.get("encoding_format") == "base64":
            vector = base64.b64encode(struct.pack("<12f", *vector)).decode()
        data.append({"object": "embedding", "index": index, "embedding": vector})
    return {"object": "list", "data": data, "model": body["model"],
            "usage": {"prompt_tokens": 4 * len(texts), "total_tokens": 4 * len(texts)}}


def models(path: str) -> dict:
    listed = [{"id": name, "object": "model", "created": CREATED, "owned_by": "openai"}
              for name in ("gpt-4o-mini", "text-embedding-3-small")]
    name = path.removeprefix("/v1/models").lstrip("/")
    return next((m for m in listed if m["id"] == name), {"object": "list", "data": listed})


def speech(body: dict) -> list[bytes]:
    """Bytes that are no text in any encoding, told by the words spoken."""
    seed = hashlib.sha256(body["input"].encode()).digest()
    return [b"ID3\x04\x00\xff\xfb" + seed, seed * 40, bytes(range(256)), b"\x00\xff\xfe"]


def transcription(request) -> dict:
    """Says what arrived, so that a byte lost on the way shows."""
    boundary = request.headers["content-type"].split("boundary=")[1].strip('"').encode()
    parts = request.body.split(b"--" + boundary)
    heard = []
    for part in parts[1:-1]:
        head, _, value = part[2:-2].partition(b"\r\n\r\n")
        name = re.search(rb'name="([^"]*)"', head)[1].decode()
        file = re.search(rb'filename="([^"]*)"', head)
        told = f"{file[1].decode()} {len(value)} {hashlib.sha256(value).hexdigest()}" if file else value.decode()
        heard.append(f"{name}={told}")
    return {"text": "; ".join(sorted(heard)), "usage": {"type": "duration", "seconds": 1}}
