"""One complete chat answer: the object, its bytes and its headers."""

from openai import OpenAI
from show import emit, headers, raw

client = OpenAI()
response = client.chat.completions.with_raw_response.create(
    model="gpt-4o-mini",
    seed=9007199254740993,
    temperature=0.2,
    messages=[{"role": "system", "content": "Be brief."},
              {"role": "user", "content": "hello wörld"}],
)
emit({"object": response.parse().model_dump(mode="json"), "bytes": raw(response.content),
      "headers": headers(response), "status": response.status_code})
