"""Ask one question by every SDK for Python, complete and streamed, each with the retries it
comes with; one process, since it is the loading that takes long.

usage: every_sdk.py PROMPT
"""

import os
import sys

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # else it fetches prices as it loads
os.environ.setdefault("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")  # replay gives no stand-in for these
os.environ.setdefault("AWS_SECRET_ACCESS_KEY", "none")

import anthropic
import boto3
import cohere
import groq
import litellm
import ollama
import openai
from google import genai
from langchain_openai import ChatOpenAI
from mistralai.client import Mistral
from show import attempt, emit

HERE = os.environ["LOOMREC_URL"]
PROMPT = sys.argv[-1]
MESSAGES = [{"role": "user", "content": PROMPT}]
litellm.suppress_debug_info = True


def openai_chat(client, model):
    """A client in the manner of openai-python."""
    def ask(streamed):
        answer = client.chat.completions.create(model=model, messages=MESSAGES, stream=streamed)
        return list(answer) if streamed else answer
    return ask


def openai_responses(streamed):
    answer = openai.OpenAI().responses.create(model="gpt-4o-mini", input=PROMPT, stream=streamed)
    return list(answer) if streamed else answer


def anthropic_messages(streamed):
    question = {"model": "claude-haiku-4-5", "max_tokens": 99, "messages": MESSAGES}
    answer = anthropic.Anthropic().messages.create(**question, stream=streamed)
    return list(answer) if streamed else answer


def gemini(streamed):
    client = genai.Client()  # it is closed when it is let go
    question = {"model": "gemini-2.5-flash", "contents": PROMPT}
    if streamed:
        return list(client.models.generate_content_stream(**question))
    return client.models.generate_content(**question)


def mistral(streamed):
    chat = Mistral(api_key=os.environ["MISTRAL_API_KEY"], server_url=f"{HERE}/mistral").chat
    question = {"model": "mistral-small-latest", "messages": MESSAGES}
    return list(chat.stream(**question)) if streamed else chat.complete(**question)


def cohere_chat(streamed):
    client = cohere.ClientV2()
    question = {"model": "command-a-03-2025", "messages": MESSAGES}
    return list(client.chat_stream(**question)) if streamed else client.chat(**question)


def ollama_chat(streamed):
    answer = ollama.Client().chat(model="llama3.2", messages=MESSAGES, stream=streamed)
    return list(answer) if streamed else answer


def bedrock(streamed):
    client = boto3.client("bedrock-runtime", region_name="us-east-1")
    question = {"modelId": "us.anthropic.claude-haiku-4-5-20251001-v1:0",
                "messages": [{"role": "user", "content": [{"text": PROMPT}]}]}
    return list(client.converse_stream(**question)["stream"]) if streamed else client.converse(**question)


def langchain(streamed):
    model = ChatOpenAI(model="gpt-4o-mini", temperature=0.5)
    return list(model.stream(PROMPT)) if streamed else model.invoke(PROMPT)


def by_litellm(model):
    def ask(streamed):
        answer = litellm.completion(model=model, messages=MESSAGES, max_tokens=98, stream=streamed)
        return list(answer) if streamed else answer
    return ask


SDKS = {
    "openai": openai_chat(openai.OpenAI(), "gpt-4o-mini"),
    "openai responses": openai_responses,
    "azure": openai_chat(openai.AzureOpenAI(api_version="2025-04-01-preview"), "my-deployment"),
    "openrouter": openai_chat(openai.OpenAI(base_url=f"{HERE}/openrouter/api/v1",
                                            api_key=os.environ["OPENROUTER_API_KEY"]), "openai/gpt-4o-mini"),
    "anthropic": anthropic_messages,
    "google-genai": gemini,
    "mistralai": mistral,
    "cohere": cohere_chat,
    "ollama": ollama_chat,
    "groq": openai_chat(groq.Groq(), "llama-3.3-70b-versatile"),
    "boto3": bedrock,
    "langchain": langchain,
    "litellm openai": by_litellm("openai/gpt-4o-mini"),
    "litellm anthropic": by_litellm("anthropic/claude-haiku-4-5"),
    "litellm gemini": by_litellm("gemini/gemini-2.5-flash"),
}


def outcome(ask, streamed):
    """How a call failed; what it gave otherwise is none of this program's business."""
    return attempt(lambda: ask(streamed)).get("failed")


emit({name: {"complete": outcome(ask, False), "streamed": outcome(ask, True)} for name, ask in SDKS.items()})
