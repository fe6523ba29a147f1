"""OpenAI's Responses by openai-python."""

import json

from openai import OpenAI
from turns import FUNCTION, dumped, meaning, run

client = OpenAI(max_retries=0)


def ask(turn):
    question = {"model": "gpt-4o-mini", "input": turn.prompt, "extra_headers": turn.headers}
    if turn.tools:
        question["tools"] = [{"type": "function", "strict": False, **FUNCTION}]
    if turn.streamed:
        with client.responses.stream(**question) as stream:
            events = list(stream)
            answer = stream.get_final_response()
    else:
        answer = client.responses.create(**question)
        events = [answer]
    calls = [(i.call_id, i.name, json.loads(i.arguments)) for i in answer.output if i.type == "function_call"]
    usage = [answer.usage.input_tokens, answer.usage.output_tokens]
    return meaning(answer.output_text, answer.status, usage, calls, answer.model), dumped(events)


run(ask)
