"""An upstream that is busy once: the SDK waits as it is told and asks again."""

from openai import DefaultHttpxClient, OpenAI
from show import emit, headers

attempts = []


def note(response):
    retry = response.request.headers["x-stainless-retry-count"]
    attempts.append({"retry": retry, "status": response.status_code, "headers": headers(response)})


client = OpenAI(http_client=DefaultHttpxClient(event_hooks={"response": [note]}))
response = client.chat.completions.with_raw_response.create(
    model="gpt-4o-mini", messages=[{"role": "user", "content": "are you busy once more?"}])
emit({"attempts": attempts, "retries": response.retries_taken,
      "object": response.parse().model_dump(mode="json")})
