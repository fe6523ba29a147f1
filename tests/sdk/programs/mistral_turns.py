"""Mistral by mistralai, which has no variable for its base URL: it is told `server_url`."""

import json
import os

from mistralai.client import Mistral
from turns import TOOLS, dumped, meaning, openai_chunks, run

MODEL = "mistral-small-latest"
client = Mistral(api_key=os.environ["MISTRAL_API_KEY"], server_url=os.environ["LOOMREC_URL"] + "/mistral")


def ask(turn):
    question = {"model": MODEL, "messages": turn.messages, "http_headers": turn.headers}
    if turn.tools:
        question["tools"] = TOOLS
    if turn.streamed:
        events = [event.data for event in client.chat.stream(**question)]
        return openai_chunks(events), dumped(events)
    answer = client.chat.complete(**question)
    message = answer.choices[0].message
    calls = [(c.id, c.function.name, json.loads(c.function.arguments)) for c in message.tool_calls or []]
    usage = [answer.usage.prompt_tokens, answer.usage.completion_tokens]
    return (meaning(message.content, answer.choices[0].finish_reason, usage, calls, answer.model),
            dumped([answer])[0])


def embeddings():
    return client.embeddings.create(model="mistral-embed", inputs=["one", "two"]).model_dump(mode="json")


run(ask, statuses=(401, 429, 503), scenes=("be noisy", "fail midway", "hang up midway"), embeddings=embeddings)
