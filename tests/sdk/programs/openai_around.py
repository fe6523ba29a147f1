"""Ask one question twice: where the environment says, and at an address in the code.

usage: openai_around.py PROMPT
"""

import sys

from openai import OpenAI
from show import attempt, emit

question = {"model": "gpt-4o-mini", "messages": [{"role": "user", "content": sys.argv[1]}]}


def ask(client):
    return client.chat.completions.create(**question).choices[0].message.content


emit({"here": attempt(lambda: ask(OpenAI())),
      "around": attempt(lambda: ask(OpenAI(base_url="https://api.openai.com/v1", max_retries=1)))})
