"""Perplexity by openai-python, which is what its documents call it with."""

import os

from openai import OpenAI
from turns import openai_chat, run

client = OpenAI(base_url=os.environ["LOOMREC_URL"] + "/perplexity", max_retries=0,
                api_key=os.environ["PERPLEXITY_API_KEY"])
chat = openai_chat(client, "sonar")


def ask(turn):
    """What is meant is also what the search found."""
    said, saw = chat(turn)
    chunks = saw if turn.streamed else [saw]
    found = {name: [chunk[name] for chunk in chunks if chunk.get(name)][-1]
             for name in ("citations", "search_results")}
    return {**said, **found}, saw


run(ask, statuses=(400, 401, 429, 500), scenes=("be noisy", "hang up midway"))
