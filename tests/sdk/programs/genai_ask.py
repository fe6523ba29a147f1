"""Ask Gemini one question and tell the answer's meaning, or how it failed.

usage: genai_ask.py [--stream] PROMPT
"""

import sys

from google import genai
from google.genai import types
from show import emit, failure

attempts = []
hooks = {"event_hooks": {"request": [lambda r: attempts.append(str(r.url))]}}
client = genai.Client(http_options=types.HttpOptions(client_args=hooks))
question = {"model": "gemini-2.5-flash", "contents": sys.argv[-1]}
try:
    if "--stream" in sys.argv:
        parts = list(client.models.generate_content_stream(**question))
    else:
        parts = [client.models.generate_content(**question)]
    last = parts[-1]
    emit({"text": "".join(part.text or "" for part in parts), "model": last.model_version,
          "finish_reason": last.candidates[0].finish_reason.value,
          "usage": [last.usage_metadata.prompt_token_count, last.usage_metadata.candidates_token_count]})
except Exception as error:
    emit({"failed": failure(error), "attempts": len(attempts)})
