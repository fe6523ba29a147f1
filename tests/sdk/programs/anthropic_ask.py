"""Ask one question and tell the answer's meaning, however it was delivered.

usage: anthropic_ask.py [--stream] PROMPT
"""

import sys

from anthropic import Anthropic, DefaultHttpxClient
from show import emit, failure

flags, prompt = sys.argv[1:-1], sys.argv[-1]
attempts = []
client = Anthropic(http_client=DefaultHttpxClient(event_hooks={"request": [lambda r: attempts.append(str(r.url))]}))
question = {"model": "claude-haiku-4-5", "max_tokens": 99, "messages": [{"role": "user", "content": prompt}]}
try:
    if "--stream" in flags:
        with client.messages.stream(**question) as stream:
            answer = stream.get_final_message()
    else:
        answer = client.messages.create(**question)
    emit({"text": "".join(block.text for block in answer.content if block.type == "text"),
          "finish_reason": answer.stop_reason, "model": answer.model,
          "usage": [answer.usage.input_tokens, answer.usage.output_tokens],
          "tool_calls": [[b.id, b.name, b.input] for b in answer.content if b.type == "tool_use"]})
except Exception as error:
    emit({"failed": failure(error), "attempts": len(attempts)})
