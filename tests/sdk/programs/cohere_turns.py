"""Cohere's v2 API by its own SDK."""

import json

import cohere
from cohere.core import ApiError
from show import headers
from turns import TOOLS, dumped, meaning, run

client = cohere.ClientV2()


def counts(usage):
    return usage and [int(usage.tokens.input_tokens), int(usage.tokens.output_tokens)]


def collected(events):
    text, finish, usage, calls = "", None, None, {}
    for event in events:
        if event.type == "content-delta":
            text += event.delta.message.content.text
        elif event.type == "tool-call-start":
            call = event.delta.message.tool_calls
            calls[event.index] = [call.id, call.function.name, call.function.arguments or ""]
        elif event.type == "tool-call-delta":
            calls[event.index][2] += event.delta.message.tool_calls.function.arguments
        elif event.type == "message-end":
            finish, usage = event.delta.finish_reason, counts(event.delta.usage)
    return meaning(text, finish, usage, [(i, name, json.loads(given)) for i, name, given in calls.values()])


def ask(turn):
    try:
        return answered(turn)
    except ApiError as error:
        error.headers = headers(error)  # its message tells them all
        raise


def answered(turn):
    question = {"model": "command-a-03-2025", "messages": turn.messages,
                "request_options": {"additional_headers": turn.headers, "max_retries": 0}}
    if turn.tools:
        question["tools"] = TOOLS
    if turn.streamed:
        events = list(client.chat_stream(**question))
        return collected(events), dumped(events)
    answer = client.chat(**question)
    text = "".join(part.text for part in answer.message.content or [] if part.type == "text")
    calls = [(c.id, c.function.name, json.loads(c.function.arguments)) for c in answer.message.tool_calls or []]
    return meaning(text, answer.finish_reason, counts(answer.usage), calls), dumped([answer])[0]


def embeddings():
    answer = client.embed(model="embed-v4.0", texts=["one", "two"], input_type="search_document",
                          embedding_types=["float"])
    return answer.model_dump(mode="json")


run(ask, statuses=(400, 401, 429, 500), scenes=("be noisy", "hang up midway"), embeddings=embeddings)
