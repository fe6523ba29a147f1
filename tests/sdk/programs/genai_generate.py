"""Gemini by google-genai: both verbs, a tool call, and errors."""

from google import genai
from google.genai import types
from show import attempt, drained, emit

TOOL = types.Tool(function_declarations=[types.FunctionDeclaration(
    name="get_weather", parameters_json_schema={"type": "object"})])
client = genai.Client()
MODEL = "gemini-2.5-flash"


def ask(prompt, **config):
    answer = client.models.generate_content(
        model=MODEL, contents=prompt, config=types.GenerateContentConfig(**config) if config else None)
    return answer.model_dump(mode="json", exclude={"sdk_http_response"})


def stream(prompt):
    seen = drained(client.models.generate_content_stream(model=MODEL, contents=prompt))
    for event in seen["events"]:
        event.pop("sdk_http_response", None)
    return seen


emit({
    "object": ask("hello gemini", temperature=0.5),
    "streamed": stream("stream me a gemini"),
    "called": ask("weather please", tools=[TOOL]),
    "errors": {status: attempt(lambda: ask(f"status {status}")) for status in (400, 429, 503)},
    "streams": {scene: stream(f"please {scene}") for scene in ("fail midway", "hang up midway")},
})
