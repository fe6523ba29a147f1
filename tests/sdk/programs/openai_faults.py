"""What openai-python does when it meets a fault: see faults.py."""

import httpx
from faults import openai_said, prompt, run, said
from openai import OpenAI
from turns import TOOLS, WITH_USAGE


def client(timeout):
    # Loading the machine's certificates for each client would take longer than most faults.
    openai = OpenAI(timeout=timeout, http_client=httpx.Client(verify=False))

    def ask(way, headers):
        question = {"model": "gpt-4o-mini", "messages": [{"role": "user", "content": prompt(way)}],
                    "extra_headers": headers}
        if way.startswith("tool"):
            question["tools"] = TOOLS
        if not way.endswith("streamed"):
            return openai_said(openai.chat.completions.create(**question))
        text, finish, out, tools = "", None, None, {}
        for event in openai.chat.completions.create(**question, stream=True, **WITH_USAGE):
            out = event.usage.completion_tokens if event.usage else out
            for choice in event.choices:
                text += choice.delta.content or ""
                finish = choice.finish_reason or finish
                for call in choice.delta.tool_calls or []:
                    known = tools.setdefault(call.index, ["", ""])
                    known[0] += call.function.name or ""
                    known[1] += call.function.arguments or ""
        return said(text, finish, out, tools.values())

    return ask


run(client)
