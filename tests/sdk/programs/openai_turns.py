"""Chat by openai-python."""

from openai import OpenAI
from turns import WITH_USAGE, openai_chat, run

run(openai_chat(OpenAI(max_retries=0), "gpt-4o-mini", **WITH_USAGE))
