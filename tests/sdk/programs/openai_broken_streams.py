"""Streams that are untidy, that fail, and that are cut: what the SDK makes of each."""

from openai import OpenAI
from show import drained, emit

client = OpenAI()


def read(prompt):
    return drained(client.chat.completions.create(
        model="gpt-4o-mini", stream=True, messages=[{"role": "user", "content": prompt}]))


emit({scene: read(f"please tell a story and {scene}")
      for scene in ("be noisy", "fail midway", "hang up midway", "reset midway")})
