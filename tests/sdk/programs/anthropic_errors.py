"""Anthropic's errors: refused, busy, failing and cut in mid-stream, busy once."""

from anthropic import Anthropic
from show import attempt, drained, emit

client = Anthropic(max_retries=0)
patient = Anthropic()


def question(prompt):
    return {"model": "claude-haiku-4-5", "max_tokens": 200, "messages": [{"role": "user", "content": prompt}]}


def ask(prompt):
    return client.messages.create(**question(prompt)).model_dump(mode="json")


def stream(prompt):
    return drained(client.messages.create(**question(prompt), stream=True))


busy = patient.messages.with_raw_response.create(**question("busy once, claude?"))
emit({
    "errors": {status: attempt(lambda: ask(f"status {status}")) for status in (400, 401, 404, 429, 500, 529)},
    "streams": {scene: stream(f"please {scene}")
                for scene in ("be noisy", "fail midway", "hang up midway", "reset midway")},
    "busy_once": {"retries": busy.retries_taken, "object": busy.parse().model_dump(mode="json")},
})
