"""Calls that are no generation, errors of each kind, and an answer that came compressed."""

from openai import OpenAI
from show import attempt, emit, headers, raw

client = OpenAI(max_retries=0)


def ask(prompt):
    response = client.chat.completions.with_raw_response.create(
        model="gpt-4o-mini", messages=[{"role": "user", "content": prompt}])
    return {"bytes": raw(response.content), "headers": headers(response)}


emit({
    "models": [model.model_dump(mode="json") for model in client.models.list()],
    "model": client.models.retrieve("gpt-4o-mini").model_dump(mode="json"),
    "errors": {status: attempt(lambda: ask(f"status {status}")) for status in (400, 401, 404, 429, 500, 503)},
    "compressed": ask("send it compressed"),
})
