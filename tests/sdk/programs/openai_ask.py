"""Ask one question and tell the answer's meaning, however it was delivered.

usage: openai_ask.py [--stream] PROMPT
"""

import sys

from openai import DefaultHttpxClient, OpenAI
from show import emit, failure

flags, prompt = sys.argv[1:-1], sys.argv[-1]
attempts = []
client = OpenAI(http_client=DefaultHttpxClient(event_hooks={"request": [lambda r: attempts.append(str(r.url))]}))
question = {"model": "gpt-4o-mini", "messages": [{"role": "user", "content": prompt}]}
try:
    if "--stream" in flags:
        with client.chat.completions.stream(**question, stream_options={"include_usage": True}) as stream:
            answer = stream.get_final_completion()
    else:
        answer = client.chat.completions.create(**question)
    choice = answer.choices[0]
    emit({"text": choice.message.content or "", "finish_reason": choice.finish_reason, "model": answer.model,
          "usage": [answer.usage.prompt_tokens, answer.usage.completion_tokens, answer.usage.total_tokens],
          "tool_calls": [[c.id, c.function.name, c.function.arguments] for c in choice.message.tool_calls or []]})
except Exception as error:
    emit({"failed": failure(error), "attempts": len(attempts)})
