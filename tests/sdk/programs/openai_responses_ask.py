"""Ask the Responses API one question and tell the answer's meaning, however it was delivered.

usage: openai_responses_ask.py [--stream] PROMPT
"""

import sys

from openai import DefaultHttpxClient, OpenAI
from show import emit, failure

flags, prompt = sys.argv[1:-1], sys.argv[-1]
attempts = []
client = OpenAI(http_client=DefaultHttpxClient(event_hooks={"request": [lambda r: attempts.append(str(r.url))]}))
question = {"model": "gpt-4o-mini", "input": prompt}
try:
    if "--stream" in flags:
        with client.responses.stream(**question) as stream:
            told = "".join(event.delta for event in stream if event.type == "response.output_text.delta")
            answer = stream.get_final_response()
        assert told == answer.output_text, told
    else:
        answer = client.responses.create(**question)
    usage = answer.usage
    emit({"text": answer.output_text, "finish_reason": answer.status, "model": answer.model, "id": answer.id,
          "usage": [usage.input_tokens, usage.output_tokens, usage.total_tokens],
          "tool_calls": [[i.call_id, i.name, i.arguments] for i in answer.output if i.type == "function_call"]})
except Exception as error:
    emit({"failed": failure(error), "attempts": len(attempts)})
