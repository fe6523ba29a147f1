"""Ask one client each prompt, and tell its version, and what came or how it failed.

usage: clients.py CLIENT PROMPT... [--direct PROMPT...]
From --direct on, the client knows no base URL of loomrec. The prompt `refused` goes to another host.
"""

import os
import sys

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # else it fetches prices as it loads
if not {"AWS_PROFILE", "AWS_CONFIG_FILE"} & os.environ.keys():  # replay gives no stand-in for these
    os.environ.setdefault("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
    os.environ.setdefault("AWS_SECRET_ACCESS_KEY", "none")
REFUSED = "https://gateway.example"
HERE = os.environ["LOOMREC_URL"]
PROGRAMS = os.path.dirname(os.path.abspath(__file__))

import asyncio
import importlib.metadata
import json
import subprocess
import tempfile

from show import attempt, emit


def messages(prompt):
    return [{"role": "user", "content": prompt}]


def openai(prompt, base):
    from openai import OpenAI
    given = OpenAI(base_url=base, max_retries=0)
    answer = given.chat.completions.create(model="gpt-4o-mini", messages=messages(prompt))
    return answer.choices[0].message.content


def anthropic(prompt, base):
    from anthropic import Anthropic
    given = Anthropic(base_url=base, max_retries=0)
    return given.messages.create(model="claude-haiku-4-5", max_tokens=99, messages=messages(prompt)).content[0].text


def google_genai(prompt, base):
    from google import genai
    given = genai.Client(http_options=genai.types.HttpOptions(base_url=base))
    return given.models.generate_content(model="gemini-2.5-flash", contents=prompt).text


def mistralai(prompt, base):
    from mistralai.client import Mistral
    if base is None and "LOOMREC_URL" in os.environ:  # it reads no variable
        base = f"{HERE}/mistral"
    given = Mistral(api_key=os.environ["MISTRAL_API_KEY"], server_url=base)
    answer = given.chat.complete(model="mistral-small-latest", messages=messages(prompt))
    return answer.choices[0].message.content


def cohere(prompt, base):
    from cohere import ClientV2
    # It reads its variable as it is imported.
    given = ClientV2(base_url=base or os.environ.get("CO_API_URL", "https://api.cohere.com"))
    answer = given.chat(model="command-a-03-2025", messages=messages(prompt),
                        request_options={"max_retries": 0})
    return answer.message.content[0].text


def groq(prompt, base):
    from groq import Groq
    given = Groq(base_url=base, max_retries=0)
    answer = given.chat.completions.create(model="llama-3.3-70b-versatile", messages=messages(prompt))
    return answer.choices[0].message.content


def litellm(prompt, base):
    """By its transport of aiohttp."""
    import litellm
    litellm.suppress_debug_info = True
    answer = asyncio.run(litellm.acompletion(model="anthropic/claude-haiku-4-5", messages=messages(prompt),
                                             api_base=base, max_tokens=99, max_retries=0))
    return answer.choices[0].message.content


def boto3(prompt, base):
    import boto3
    from botocore.config import Config
    once = Config(retries={"total_max_attempts": 1})
    given = boto3.client("bedrock-runtime", region_name="us-east-1", config=once, endpoint_url=base)
    # A signed header that a proxy likes to change.
    given.meta.events.register("before-sign.bedrock-runtime",
                               lambda request, **_: request.headers.add_header("accept-encoding", "br;q=0.5, gzip"))
    answer = given.converse(modelId="us.anthropic.claude-haiku-4-5-20251001-v1:0",
                            messages=[{"role": "user", "content": [{"text": prompt}]}])
    return answer["output"]["message"]["content"][0]["text"]


def posted(prompt, base, *line):
    """What a command printed that posts the question, its last two arguments being address and body."""
    base = base or os.environ.get("OPENAI_BASE_URL", "https://api.openai.com/v1")
    body = json.dumps({"model": "gpt-4o-mini", "messages": messages(prompt)})
    done = subprocess.run([*line, f"{base}/chat/completions", body], capture_output=True, encoding="utf-8", check=False)
    if done.returncode != 0:
        # The name is what a person sees of it.
        raise type(f"exit code {done.returncode}", (Exception,), {})((done.stdout or done.stderr).strip())
    return json.loads(done.stdout)["choices"][0]["message"]["content"]


def curl(prompt, base):
    return posted(prompt, base, "sh", "-c",
                  'exec curl -sS --fail-with-body -H "content-type: application/json" -d "$2" "$1"', "sh")


def java(prompt, base):
    return posted(prompt, base, "java", os.path.join(PROGRAMS, "Ask.java"))


def java_configured(prompt, base):
    """With the proxy and the authorities of the environment."""
    return posted(prompt, base, "java", os.path.join(PROGRAMS, "Ask.java"), "--proxy")


def go(prompt, base):
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "ask")
        subprocess.run(["go", "build", "-o", program, os.path.join(PROGRAMS, "ask.go")], check=True)
        return posted(prompt, base, program)


def version(name):
    try:
        return importlib.metadata.version(name.replace("_", "-"))
    except importlib.metadata.PackageNotFoundError:
        return None


def hide_base_urls():
    for name in [name for name, value in os.environ.items() if f"{value}/".startswith(f"{HERE}/")]:
        del os.environ[name]


client, *words = sys.argv[1:]
answers = []
for word in words:
    if word == "--direct":
        hide_base_urls()
    else:
        answers.append(attempt(lambda: globals()[client](word, REFUSED if word == "refused" else None)))
emit({"version": version(client), "answers": answers})
