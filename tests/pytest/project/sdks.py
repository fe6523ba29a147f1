"""A program that calls three providers by their SDKs. One client is built at import."""

from __future__ import annotations

import openai

CLIENT = openai.OpenAI()
PLACE = "Paris"


def ask_openai(text: str, client: openai.OpenAI = CLIENT) -> str:
    """One complete answer."""
    answer = client.chat.completions.create(
        model="gpt-4o-mini", messages=[{"role": "user", "content": text}])
    return answer.choices[0].message.content or ""


def stream_openai(text: str) -> list[str]:
    """The answer in pieces."""
    stream = CLIENT.chat.completions.create(
        model="gpt-4o-mini", messages=[{"role": "user", "content": text}], stream=True)
    return [event.choices[0].delta.content or "" for event in stream]


def ask_anthropic(text: str) -> str:
    """One answer of a client that is built here."""
    import anthropic

    answer = anthropic.Anthropic().messages.create(
        model="claude-haiku-4-5", max_tokens=64, messages=[{"role": "user", "content": text}])
    return answer.content[0].text


def ask_gemini(text: str) -> str:
    """One answer, over a client of google-genai."""
    from google import genai

    client = genai.Client()
    return client.models.generate_content(model="gemini-2.5-flash", contents=text).text or ""


async def ask_async(text: str) -> str:
    """One answer of an async client."""
    async with openai.AsyncOpenAI() as client:
        answer = await client.chat.completions.create(
            model="gpt-4o-mini", messages=[{"role": "user", "content": text}])
    return answer.choices[0].message.content or ""


def umbrella() -> str:
    """The question whose wording the suite changes."""
    return ask_openai(f"Do I need an umbrella in {PLACE}?")
