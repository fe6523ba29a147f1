"""The questions that the program of each SDK asks, and how it tells what came back.

usage of such a program: PROGRAM [--steps] [complete|streamed]

Each delivery (both, unless one is named) is asked for a sentence and for a tool call.
Told are the `meaning`, which is the same however an answer was delivered, and what the
SDK `saw`. Errors and broken streams follow when all is asked for. With --steps each call
says by a header which step it is: `say` or `call`.
"""

import json
import sys
from dataclasses import dataclass, field

from show import attempt, emit

SCENES = {"say": "tell me something", "call": "weather please"}
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
FUNCTION = {"name": "get_weather", "description": "The weather of a city", "parameters": SCHEMA}
TOOLS = [{"type": "function", "function": FUNCTION}]
WITH_USAGE = {"stream_options": {"include_usage": True}}
STEPS = "--steps" in sys.argv
DELIVERIES = [d for d in ("complete", "streamed") if d in sys.argv] or ["complete", "streamed"]


@dataclass
class Turn:
    """One question."""

    prompt: str
    streamed: bool = False
    tools: bool = False
    headers: dict = field(default_factory=dict)

    @property
    def messages(self):
        return [{"role": "user", "content": self.prompt}]


def meaning(text, finish_reason, usage, tool_calls, model=None):
    """What an answer says. A tool call is (id, name, arguments as an object)."""
    return {"text": text or "", "finish_reason": finish_reason, "usage": usage, "model": model,
            "tool_calls": [list(call) for call in tool_calls]}


def dumped(events):
    """Objects of pydantic as JSON holds them."""
    return [event.model_dump(mode="json") for event in events]


def told(ask):
    """Both scenes in each delivery. `ask` takes a Turn and gives (meaning, saw)."""
    document = {}
    for delivery in DELIVERIES:
        for scene, prompt in SCENES.items():
            headers = {"x-loomrec-step-id": scene} if STEPS else {}
            said, saw = ask(Turn(prompt, delivery == "streamed", scene == "call", headers))
            document.setdefault(delivery, {})[scene] = said if STEPS else {"meaning": said, "saw": saw}
    return document


def failures(ask, statuses, scenes=()):
    """How an error of each status is raised, and how a stream ends in each scene."""
    document = {"errors": {status: attempt(lambda: ask(Turn(f"status {status}"))) for status in statuses}}
    if scenes:
        document["broken"] = {s: attempt(lambda: ask(Turn(f"please {s}", streamed=True))) for s in scenes}
    return document


def run(ask, statuses=(400, 429, 503), scenes=(), **more):
    """The whole program; `more` are further calls, only made when all is asked for."""
    document = told(ask)
    if not STEPS and len(DELIVERIES) == 2:
        document |= failures(ask, statuses, scenes)
        document |= {name: call() for name, call in more.items()}
    emit(document)


def openai_chat(client, model, **stream_options):
    """The `ask` of a client in the manner of openai-python."""
    def ask(turn):
        question = {"model": model, "messages": turn.messages, "extra_headers": turn.headers}
        if turn.tools:
            question["tools"] = TOOLS
        if not turn.streamed:
            answer = client.chat.completions.create(**question)
            message, usage = answer.choices[0].message, answer.usage
            calls = [(c.id, c.function.name, json.loads(c.function.arguments)) for c in message.tool_calls or []]
            return (meaning(message.content, answer.choices[0].finish_reason, _counts(usage), calls, answer.model),
                    dumped([answer])[0])
        events = list(client.chat.completions.create(**question, stream=True, **stream_options))
        return openai_chunks(events), dumped(events)

    return ask


def openai_chunks(events):
    """The meaning of a stream of chunks in the manner of openai-python."""
    text, finish, usage, calls = "", None, None, {}
    for event in events:
        told_by_groq = getattr(event, "x_groq", None)
        usage = getattr(event, "usage", None) or getattr(told_by_groq, "usage", None) or usage
        for choice in event.choices:
            text += choice.delta.content or ""
            finish = choice.finish_reason or finish
            for call in choice.delta.tool_calls or []:
                known = calls.setdefault(call.index, [call.id, call.function.name, ""])
                known[2] += call.function.arguments or ""
    made = [(identity, name, json.loads(arguments)) for identity, name, arguments in calls.values()]
    return meaning(text, finish, _counts(usage), made, events[-1].model)


def _counts(usage):
    return usage and [usage.prompt_tokens, usage.completion_tokens]
