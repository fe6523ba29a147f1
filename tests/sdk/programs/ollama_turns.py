"""Ollama by its own SDK: chat, generate and embed."""

import ollama
from turns import TOOLS, dumped, meaning, run

MODEL = "llama3.2"


def ask(turn):
    client = ollama.Client(headers=turn.headers)
    pieces = client.chat(model=MODEL, messages=turn.messages, tools=TOOLS if turn.tools else None,
                         stream=turn.streamed)
    pieces = list(pieces) if turn.streamed else [pieces]
    last = pieces[-1]
    calls = [("", call.function.name, call.function.arguments)
             for piece in pieces for call in piece.message.tool_calls or []]
    text = "".join(piece.message.content or "" for piece in pieces)
    return (meaning(text, last.done_reason, [last.prompt_eval_count, last.eval_count], calls, last.model),
            dumped(pieces))


def generate():
    client = ollama.Client()
    return {"complete": client.generate(model=MODEL, prompt="hello").model_dump(mode="json"),
            "streamed": dumped(client.generate(model=MODEL, prompt="hello", stream=True))}


def embeddings():
    return ollama.embed(model="nomic-embed-text", input=["one", "two"]).model_dump(mode="json")


run(ask, statuses=(400, 404, 500), scenes=("fail midway", "hang up midway"), generate=generate,
    embeddings=embeddings)
