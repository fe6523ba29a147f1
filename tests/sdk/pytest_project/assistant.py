"""A small program that calls an LLM, as the README's reader has one."""

from openai import OpenAI

PROMPT = "Summarise in five words: {text}"


def summarise(text):
    answer = OpenAI().chat.completions.create(
        model="gpt-4o-mini", messages=[{"role": "user", "content": PROMPT.format(text=text)}])
    return answer.choices[0].message.content


def tell(text):
    """The summary piece by piece, as it comes."""
    stream = OpenAI().chat.completions.create(
        model="gpt-4o-mini", messages=[{"role": "user", "content": PROMPT.format(text=text)}], stream=True)
    for event in stream:
        yield event.choices[0].delta.content or ""
