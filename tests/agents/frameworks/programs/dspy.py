"""DSPy: a ReAct module."""

import os

import dspy


def weather(city: str) -> str:
    """Returns the weather in a city."""
    return f"{len(city)} degrees, light rain"


dspy.configure(lm=dspy.LM("openai/gpt-4o", cache=False))
print(dspy.ReAct("question -> answer", tools=[weather])(question=os.environ["PROMPT"]).answer)
