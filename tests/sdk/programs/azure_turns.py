"""Azure OpenAI by openai-python: a deployment's chat, and Responses."""

from openai import AzureOpenAI
from show import drained
from turns import WITH_USAGE, openai_chat, run

client = AzureOpenAI(api_version="2025-04-01-preview", max_retries=0)


def responses():
    question = {"model": "my-deployment", "input": "hello azure"}
    streamed = drained(client.responses.create(**question, stream=True))
    return {"complete": client.responses.create(**question).model_dump(mode="json"), **streamed}


run(openai_chat(client, "my-deployment", **WITH_USAGE), statuses=(400, 401, 429, 500), scenes=("fail midway", "hang up midway"),
    responses=responses)
