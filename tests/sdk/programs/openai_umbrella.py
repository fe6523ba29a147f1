"""One question by openai-python with two retries: exit 1 when the SDK gives up."""

import sys

from openai import APIError, OpenAI
from show import emit, failure

try:
    answer = OpenAI(max_retries=2).chat.completions.create(
        model="gpt-4o-mini", messages=[{"role": "user", "content": "Do I need an umbrella in Paris?"}],
        extra_headers={"x-loomrec-step-id": "umbrella"})
    emit({"text": answer.choices[0].message.content})
except APIError as error:
    emit({"failed": failure(error)})
    sys.exit(1)
