"""LiteLLM before three providers; one program, since it is long in loading."""

import gc
import json
import os
import re

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # else it fetches prices as it loads
import litellm
from turns import STEPS, TOOLS, WITH_USAGE, dumped, failures, meaning, openai_chunks, told
from show import emit

litellm.suppress_debug_info = True
# LiteLLM leaves an Anthropic stream unread behind its last event. When the collector finds it while
# httpcore holds the lock of its connections, httpcore waits for that lock for ever.
gc.disable()


def by(model):
    def ask(turn):
        gc.collect()
        question = {"model": model, "messages": turn.messages, "max_tokens": 99, "num_retries": 0, "max_retries": 0,
                    "extra_headers": turn.headers}
        if turn.tools:
            question["tools"] = TOOLS
        if turn.streamed:
            events = list(litellm.completion(**question, stream=True, **WITH_USAGE))
            return unminted({**openai_chunks(events), "model": None}), own(dumped(events))
        answer = litellm.completion(**question)
        message = answer.choices[0].message
        calls = [(c.id, c.function.name, json.loads(c.function.arguments)) for c in message.tool_calls or []]
        usage = [answer.usage.prompt_tokens, answer.usage.completion_tokens]
        said = meaning(message.content, answer.choices[0].finish_reason, usage, calls)
        return unminted(said), own(dumped([answer]))

    return ask


def own(answers):
    """Without the ids and times that LiteLLM itself makes up, new ones each time."""
    return [unminted({**answer, "id": None, "created": None}) for answer in answers]


def unminted(told):
    """It gives Gemini's tool calls ids of its own, too."""
    return json.loads(re.sub(r'"call_[0-9a-f]{28}"', '"call_own"', json.dumps(told)))


document = {}
for provider, model in {"openai": "openai/gpt-4o-mini", "anthropic": "anthropic/claude-haiku-4-5",
                        "gemini": "gemini/gemini-2.5-flash"}.items():
    document[provider] = told(by(model))
    if not STEPS:
        document[provider] |= failures(by(model), (400, 429))
emit(document)
