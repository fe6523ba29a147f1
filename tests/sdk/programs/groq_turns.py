"""Groq by its own SDK."""

from groq import Groq
from turns import openai_chat, run

run(openai_chat(Groq(max_retries=0), "llama-3.3-70b-versatile"), scenes=("be noisy", "hang up midway"))
