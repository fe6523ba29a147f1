"""Instructor: an answer of a wrong shape is asked for again."""

import os

import instructor
from pydantic import BaseModel


class Report(BaseModel):
    """The weather in a city."""

    city: str
    degrees: int


client = instructor.from_provider("openai/gpt-4o")
question = [{"role": "user", "content": os.environ["PROMPT"]}]
print(client.chat.completions.create(response_model=Report, messages=question, max_retries=2))
