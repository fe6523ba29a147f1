"""A streamed chat answer, read as events and then, asked again, as bytes."""

from openai import OpenAI
from show import drained, emit, headers, raw

client = OpenAI()
question = {
    "model": "gpt-4o-mini",
    "messages": [{"role": "user", "content": "stream me a greeting"}],
    "stream": True,
    "stream_options": {"include_usage": True},
}
with client.chat.completions.create(**question) as stream:
    events = drained(stream)
with client.chat.completions.with_streaming_response.create(**question) as response:
    content = b"".join(response.iter_bytes())
    emit({**events, "bytes": raw(content), "headers": headers(response)})
