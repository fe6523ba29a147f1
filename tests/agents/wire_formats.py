"""The answers of a plan in the wire format of each API, whole and as a stream of events."""

from __future__ import annotations

import json
import secrets

from plans import Call, Plan


def pieces(text: str) -> list[str]:
    """Cuts a text into deltas of 7 letters, so that a path is in several."""
    return [text[at:at + 7] for at in range(0, len(text), 7)]


# Anthropic Messages


def anthropic_content(plan: Plan) -> list[dict]:
    if not plan.calls:
        return [{"type": "text", "text": plan.text}]
    return [{"type": "tool_use", "id": f"toolu_{secrets.token_hex(12)}", "name": call.tool,
             "input": call.arguments} for call in plan.calls]


def anthropic_whole(body: dict, plan: Plan) -> dict:
    return {"id": f"msg_{secrets.token_hex(12)}", "type": "message", "role": "assistant",
            "model": body.get("model"), "content": anthropic_content(plan),
            "stop_reason": "tool_use" if plan.calls else "end_turn", "stop_sequence": None,
            "usage": {"input_tokens": 100, "output_tokens": 20}}


def anthropic(body: dict, plan: Plan) -> list:
    whole = anthropic_whole(body, plan)
    events = [{"type": "message_start", "message": {**whole, "content": [], "stop_reason": None}}]
    for index, block in enumerate(whole["content"]):
        events += anthropic_block(index, block)
    events += [{"type": "message_delta", "usage": {"output_tokens": 20},
                "delta": {"stop_reason": whole["stop_reason"], "stop_sequence": None}},
               {"type": "message_stop"}]
    return [(event["type"], event) for event in events]


def anthropic_block(index: int, block: dict) -> list[dict]:
    if block["type"] == "tool_use":
        empty, deltas = {**block, "input": {}}, [
            {"type": "input_json_delta", "partial_json": piece}
            for piece in pieces(json.dumps(block["input"]))]
    else:
        empty, deltas = {**block, "text": ""}, [
            {"type": "text_delta", "text": piece} for piece in pieces(block["text"])]
    return [{"type": "content_block_start", "index": index, "content_block": empty},
            *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
            {"type": "content_block_stop", "index": index}]


# OpenAI chat completions


def chat_whole(body: dict, plan: Plan) -> dict:
    message: dict = {"role": "assistant", "content": None if plan.calls else plan.text}
    if plan.calls:
        message["tool_calls"] = [{
            "id": f"call_{secrets.token_hex(12)}", "type": "function",
            "function": {"name": call.tool, "arguments": json.dumps(call.arguments)}}
            for call in plan.calls]
    return {"id": f"chatcmpl-{secrets.token_hex(12)}", "object": "chat.completion",
            "created": 1700000000, "model": body.get("model"),
            "choices": [{"index": 0, "message": message,
                         "finish_reason": "tool_calls" if plan.calls else "stop"}],
            "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120}}


def chat(body: dict, plan: Plan) -> list:
    whole = chat_whole(body, plan)
    head = {"id": whole["id"], "object": "chat.completion.chunk", "created": whole["created"],
            "model": whole["model"]}

    def chunk(delta, reason=None):
        return None, {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}

    message = whole["choices"][0]["message"]
    if plan.calls:
        events, role = [], {"role": "assistant", "content": None}
        for index, call in enumerate(message["tool_calls"]):
            empty = {**call, "index": index, "function": {"name": call["function"]["name"],
                                                          "arguments": ""}}
            events.append(chunk({**role, "tool_calls": [empty]}))
            role = {}
            events += [chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
                       for piece in pieces(call["function"]["arguments"])]
    else:
        events = [chunk({"role": "assistant", "content": ""})]
        events += [chunk({"content": piece}) for piece in pieces(plan.text)]
    events.append(chunk({}, whole["choices"][0]["finish_reason"]))
    events.append((None, {**head, "choices": [], "usage": whole["usage"]}))
    return events + [(None, "[DONE]")]


# OpenAI Responses


def responses_items(plan: Plan) -> list[dict]:
    if not plan.calls:
        part = {"type": "output_text", "text": plan.text, "annotations": []}
        return [{"type": "message", "id": f"msg_{secrets.token_hex(12)}", "role": "assistant",
                 "status": "completed", "content": [part]}]
    return [responses_call(call) for call in plan.calls]


def responses_call(call: Call) -> dict:
    known = {"status": "completed", "call_id": f"call_{secrets.token_hex(12)}", "name": call.tool}
    if isinstance(call.arguments, str):
        return {"type": "custom_tool_call", "id": f"ctc_{secrets.token_hex(12)}", **known,
                "input": call.arguments}
    return {"type": "function_call", "id": f"fc_{secrets.token_hex(12)}", **known,
            "arguments": json.dumps(call.arguments)}


def responses(body: dict, plan: Plan):
    """Returns the events and the whole answer."""
    items = responses_items(plan)
    whole = {"id": f"resp_{secrets.token_hex(12)}", "object": "response", "status": "completed",
             "created_at": 1700000000, "model": body.get("model"), "output": items,
             "usage": {"input_tokens": 100, "output_tokens": 20, "total_tokens": 120,
                       "input_tokens_details": {"cached_tokens": 0},
                       "output_tokens_details": {"reasoning_tokens": 0}}}
    started = {**whole, "status": "in_progress", "output": [], "usage": None}
    events = [{"type": "response.created", "response": started}]
    for index, item in enumerate(items):
        events += responses_item_events(index, item)
    events.append({"type": "response.completed", "response": whole})
    for number, event in enumerate(events):
        event["sequence_number"] = number
    return [(event["type"], event) for event in events], whole


def responses_item_events(index: int, item: dict) -> list[dict]:
    place = {"item_id": item["id"], "output_index": index}
    empty = {**item, "status": "in_progress"}
    added = {"type": "response.output_item.added", "output_index": index, "item": empty}
    done = {"type": "response.output_item.done", "output_index": index, "item": item}
    if item["type"] == "message":
        empty["content"] = []
        place["content_index"] = 0
        kind, part = "response.output_text", item["content"][0]
        inner = [{"type": "response.content_part.added", **place, "part": {**part, "text": ""}}]
        inner += [{"type": f"{kind}.delta", **place, "delta": piece} for piece in pieces(part["text"])]
        inner += [{"type": f"{kind}.done", **place, "text": part["text"]},
                  {"type": "response.content_part.done", **place, "part": part}]
        return [added, *inner, done]
    is_custom = item["type"] == "custom_tool_call"
    kind = "response.custom_tool_call_input" if is_custom else "response.function_call_arguments"
    field = "input" if is_custom else "arguments"
    empty[field] = ""
    inner = [{"type": f"{kind}.delta", **place, "delta": piece} for piece in pieces(item[field])]
    return [added, *inner, {"type": f"{kind}.done", **place, field: item[field]}, done]


# Gemini


def gemini(plan: Plan) -> list:
    usage = {"promptTokenCount": 100, "candidatesTokenCount": 20, "totalTokenCount": 120}
    head = {"modelVersion": "scripted", "responseId": secrets.token_urlsafe(12),
            "usageMetadata": usage}

    def answer(parts, reason=None):
        candidate = {"content": {"role": "model", "parts": parts}, "index": 0}
        if reason:
            candidate["finishReason"] = reason
        return {**head, "candidates": [candidate]}

    calls = [{"functionCall": {"name": call.tool, "args": call.arguments},
              "thoughtSignature": secrets.token_urlsafe(24)} for call in plan.calls]
    return [answer(calls or [{"text": plan.text}], "STOP")]
