"""A batch of embeddings: in the SDK's own encoding (base64) and as numbers."""

from openai import OpenAI
from show import emit, raw

client = OpenAI()
batch = {"model": "text-embedding-3-small", "input": ["a first text", "ein zweiter – mit Strich", "third"]}
default = client.embeddings.with_raw_response.create(**batch)
numbers = client.embeddings.with_raw_response.create(**batch, encoding_format="float")
emit({"default": default.parse().model_dump(mode="json"), "default_bytes": raw(default.content),
      "numbers": numbers.parse().model_dump(mode="json"), "numbers_bytes": raw(numbers.content)})
