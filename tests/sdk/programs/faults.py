"""Walks an SDK through faults, each asked for by a header, and tells what it did.

usage of such a program: PROGRAM [FILE]

FILE holds `{"cases": [{"name", "fault", "ask", "timeout"}], "once": bool}`. Each case has
a session of its own. Without FILE each way to ask (`complete`, `streamed`, `tool`,
`tool_streamed`) is used once, with no fault: what is recorded.

A program gives `run` a function from a timeout in seconds to an `ask(way, headers)`,
which gives what the answer said: text, finish reason, tokens out, tool calls.
"""

import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from show import emit

WAYS = ("complete", "streamed", "tool", "tool_streamed")
AT_ONCE = 16
PATIENCE = 30.0  # seconds, where a case does not bring its own


def prompt(way):
    asked = "weather please" if way.startswith("tool") else "tell me of a fault"
    # A recorded stream is for those who ask for one.
    return f"{asked}, bit by bit" if way.endswith("streamed") else asked


def said(text, finish, out, tools=()):
    """What an answer says. A tool call is (name, arguments as the SDK gives them)."""
    return {"text": text or "", "finish": finish, "out": out, "tools": [list(tool) for tool in tools]}


def openai_said(answer):
    choice = answer.choices[0]
    tools = [(c.function.name, c.function.arguments) for c in choice.message.tool_calls or []]
    return said(choice.message.content, choice.finish_reason, answer.usage.completion_tokens, tools)


def _name(error):
    module = type(error).__module__.split(".")[0]
    return type(error).__name__ if module == "builtins" else f"{module}.{type(error).__name__}"


def _try(ask, way, headers):
    began = time.monotonic()
    try:
        outcome = {"got": ask(way, headers)}
    except Exception as error:  # whatever it is: that is the question
        outcome = {"raises": _name(error), "message": str(error)[:200]}
    return outcome | {"ms": round((time.monotonic() - began) * 1000)}


def _case(client, case, once):
    """The fault at every attempt, then the same call without it; or, where it comes only
    once, the call and, if that failed, the same again."""
    ask = client(case.get("timeout", PATIENCE))
    session = {"x-loomrec-session": case["name"]}
    faulted = session | {"x-loomrec-fault": case["fault"]}
    seen = _try(ask, case["ask"], faulted)
    if not once:
        seen["then"] = _try(ask, case["ask"], session)
    elif "raises" in seen:
        seen["then"] = _try(ask, case["ask"], faulted)
    return seen


def run(client):
    """The whole program."""
    if len(sys.argv) < 2:
        emit({way: client(PATIENCE)(way, {}) for way in WAYS})
        return
    task = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    # What an SDK loads when it is first used is no part of a fault's time.
    client(PATIENCE)("complete", {})
    with ThreadPoolExecutor(AT_ONCE) as pool:
        done = pool.map(lambda case: _case(client, case, task["once"]), task["cases"])
        emit({case["name"]: seen for case, seen in zip(task["cases"], done)})
