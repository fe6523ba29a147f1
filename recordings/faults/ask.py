"""Asks one question, up to three times, and tells how each attempt went.

    loomrec replay -r recordings/faults/hang.json -- python3 recordings/faults/ask.py [--stream]

It needs Python and nothing else, and does what a program can do for itself: it waits no
longer than a second, and takes no answer for whole that is not.
"""

import gzip
import http.client
import json
import os
import sys
import time
from urllib.parse import urlsplit

ATTEMPTS, PATIENCE, PAUSE = 3, 1.0, 0.2
STREAM = "--stream" in sys.argv
QUESTION = {"model": "gpt-4o-mini", "stream": STREAM,
            "messages": [{"role": "user", "content": "Do I need an umbrella in Paris?"}]}


def attempt():
    """The answer's message, or an exception."""
    url = urlsplit(os.environ["OPENAI_BASE_URL"])
    connection = http.client.HTTPConnection(url.netloc, timeout=PATIENCE)
    try:
        connection.request("POST", f"{url.path}/chat/completions", json.dumps(QUESTION),
                           {"content-type": "application/json", "x-loomrec-step-id": "umbrella"})
        response = connection.getresponse()
        body = response.read()
    finally:
        connection.close()
    if response.status != 200:
        raise RuntimeError(f"status {response.status}, retry-after {response.getheader('retry-after')}")
    if response.getheader("content-encoding") == "gzip":
        body = gzip.decompress(body)
    return streamed(body.decode()) if STREAM else whole(json.loads(body)["choices"][0]["message"], body)


def whole(message, body):
    finish = json.loads(body)["choices"][0]["finish_reason"]
    if finish == "length":
        raise RuntimeError(f"cut off: {message['content']!r}")
    for call in message.get("tool_calls") or []:
        arguments = json.loads(call["function"]["arguments"])
        return f"calls {call['function']['name']} for {arguments['city']}"
    return message["content"]


def streamed(body):
    text, finish, done = "", None, False
    for event in body.split("\n\n"):
        data = event.removeprefix("data: ")
        if data == "[DONE]":
            done = True
        elif data:
            chunk = json.loads(data)
            if "error" in chunk:
                raise RuntimeError(f"error within the stream: {chunk['error']['message']}")
            for choice in chunk["choices"]:
                text += choice["delta"].get("content") or ""
                finish = choice["finish_reason"] or finish
    if not done or finish is None:
        raise RuntimeError(f"cut off: {text!r}")
    return text


for number in range(1, ATTEMPTS + 1):
    try:
        print(f"attempt {number}: {attempt()}")
        break
    except Exception as error:
        print(f"attempt {number}: {type(error).__name__}: {error}")
        time.sleep(PAUSE)
else:
    sys.exit(1)
