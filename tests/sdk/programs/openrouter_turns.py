"""OpenRouter by openai-python, which is what its users call it with."""

import os

from openai import OpenAI
from turns import Turn, openai_chat, run

client = OpenAI(base_url=os.environ["LOOMREC_URL"] + "/openrouter/api/v1", max_retries=0,
                api_key=os.environ["OPENROUTER_API_KEY"])


def error_in_success():
    answer = client.chat.completions.create(model="openai/gpt-4o-mini", messages=Turn("fail within").messages)
    return answer.model_dump(mode="json")


run(openai_chat(client, "openai/gpt-4o-mini"), statuses=(402, 429, 502),
    scenes=("fail midway", "reset midway"), error_in_success=error_in_success)
