"""The same turns as openai_responses_socket.py, over HTTP.

usage: openai_responses_stream.py PROMPT...
"""

import sys

from openai import OpenAI
from show import emit, failure

turns, client = [], OpenAI(max_retries=0)
try:
    for prompt in sys.argv[1:]:
        stream = client.responses.create(model="gpt-5-mini", input=prompt, stream=True)
        turns.append([event.model_dump(mode="json") for event in stream])
    emit({"turns": turns})
except Exception as error:
    emit({"turns": turns, "failed": failure(error)})
