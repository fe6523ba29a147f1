"""One text turn over OpenAI's Realtime API, and what came, or how it failed.

usage: openai_realtime.py INSTRUCTIONS PROMPT
"""

import sys

from openai import OpenAI
from show import emit, failure

events, client = [], OpenAI()
try:
    with client.realtime.connect(model="gpt-realtime") as connection:
        events.append(connection.recv())
        connection.session.update(session={"type": "realtime", "output_modalities": ["text"],
                                           "instructions": sys.argv[1]})
        content = [{"type": "input_text", "text": sys.argv[2]}]
        connection.conversation.item.create(item={"type": "message", "role": "user", "content": content})
        connection.response.create()
        for event in connection:
            events.append(event)
            if event.type in ("response.done", "error"):
                break
    emit({"events": [event.model_dump(mode="json") for event in events]})
except Exception as error:
    emit({"failed": failure(error)})
