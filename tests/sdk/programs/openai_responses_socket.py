"""Turns over the WebSocket of OpenAI's Responses API, and what came, or how it failed.

usage: openai_responses_socket.py PROMPT...
"""

import sys

from openai import OpenAI
from show import emit, failure

LAST = ("response.completed", "response.failed", "response.incomplete", "error")
turns, client = [], OpenAI()
try:
    with client.responses.connect() as connection:
        for prompt in sys.argv[1:]:
            connection.send({"type": "response.create", "model": "gpt-5-mini", "input": prompt})
            events = []
            while not events or events[-1]["type"] not in LAST:
                events.append(connection.recv().model_dump(mode="json"))
            turns.append(events)
    emit({"turns": turns})
except Exception as error:
    emit({"turns": turns, "failed": failure(error)})
