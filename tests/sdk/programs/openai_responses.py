"""The Responses API, complete and streamed."""

from openai import OpenAI
from show import drained, emit, raw

client = OpenAI()
question = {"model": "gpt-4o-mini", "instructions": "Be brief."}
complete = client.responses.with_raw_response.create(**question, input="hello responses")
streamed = client.responses.create(**question, input="stream me responses", stream=True)
emit({"object": complete.parse().model_dump(mode="json"), "bytes": raw(complete.content),
      "text": complete.parse().output_text, **drained(streamed)})
