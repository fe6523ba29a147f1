"""Two choices to one question, complete and streamed."""

from openai import OpenAI
from show import drained, emit

client = OpenAI()
question = {"model": "gpt-4o-mini", "n": 2, "messages": [{"role": "user", "content": "two ideas, please"}]}
complete = client.chat.completions.create(**question)
streamed = client.chat.completions.create(**question, stream=True)
emit({"complete": complete.model_dump(mode="json"), **drained(streamed)})
