"""A question whose first try the SDK gives up at its time limit, and one that quotes the answer."""

import sys

from openai import OpenAI
from show import emit

limit = float(sys.argv[1])
client = OpenAI(timeout=limit, max_retries=2)


def ask(text):
    answer = client.chat.completions.create(
        model="gpt-4o-mini", messages=[{"role": "user", "content": text}])
    return answer.choices[0].message.content


first = ask("name a city")
emit({"first": first, "second": ask(f"tell me of {first}")})
