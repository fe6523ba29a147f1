"""Gemini by google-genai."""

from google import genai
from google.genai import types
from turns import SCHEMA, dumped, meaning, run

client = genai.Client()
TOOL = types.Tool(function_declarations=[
    types.FunctionDeclaration(name="get_weather", parameters_json_schema=SCHEMA)])


def ask(turn):
    config = types.GenerateContentConfig(tools=[TOOL] if turn.tools else None,
                                         http_options=types.HttpOptions(headers=turn.headers))
    question = {"model": "gemini-2.5-flash", "contents": turn.prompt, "config": config}
    if turn.streamed:
        pieces = list(client.models.generate_content_stream(**question))
    else:
        pieces = [client.models.generate_content(**question)]
    parts = [part for piece in pieces for part in piece.candidates[0].content.parts or []]
    calls = [(p.function_call.id, p.function_call.name, p.function_call.args) for p in parts if p.function_call]
    last = pieces[-1]
    usage = [last.usage_metadata.prompt_token_count, last.usage_metadata.candidates_token_count]
    said = meaning("".join(part.text or "" for part in parts), last.candidates[0].finish_reason.value, usage, calls,
                   last.model_version)
    return said, [{**piece, "sdk_http_response": None} for piece in dumped(pieces)]


run(ask)
