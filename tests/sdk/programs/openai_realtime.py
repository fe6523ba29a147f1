"""One text turn over OpenAI's Realtime API, and what came, or how it failed.

usage: openai_realtime.py [--azure] INSTRUCTIONS PROMPT
"""

import sys

from openai import AzureOpenAI, OpenAI
from show import emit, failure

*kind, instructions, prompt = sys.argv[1:]
events, client = [], AzureOpenAI(api_version="2025-04-01-preview") if kind == ["--azure"] else OpenAI()
try:
    with client.realtime.connect(model="gpt-realtime") as connection:
        events.append(connection.recv())
        connection.session.update(session={"type": "realtime", "output_modalities": ["text"],
                                           "instructions": instructions})
        content = [{"type": "input_text", "text": prompt}]
        connection.conversation.item.create(item={"type": "message", "role": "user", "content": content})
        connection.response.create()
        for event in connection:
            events.append(event)
            if event.type in ("response.done", "error"):
                break
    emit({"events": [event.model_dump(mode="json") for event in events]})
except Exception as error:
    emit({"failed": failure(error)})
