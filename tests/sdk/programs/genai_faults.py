"""What google-genai does when it meets a fault: see faults.py."""

from faults import prompt, run, said
from google import genai
from google.genai import types
from turns import SCHEMA

TOOL = types.Tool(function_declarations=[
    types.FunctionDeclaration(name="get_weather", parameters_json_schema=SCHEMA)])


def client(timeout):
    # Loading the machine's certificates for each client would take longer than most faults.
    options = types.HttpOptions(timeout=int(timeout * 1000), client_args={"verify": False})
    google = genai.Client(http_options=options)

    def ask(way, headers):
        config = types.GenerateContentConfig(
            tools=[TOOL] if way.startswith("tool") else None,
            automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
            http_options=types.HttpOptions(headers=headers))
        question = {"model": "gemini-2.5-flash", "contents": prompt(way), "config": config}
        models = google.models
        streamed = way.endswith("streamed")
        pieces = models.generate_content_stream(**question) if streamed else [models.generate_content(**question)]
        text, finish, out, tools = "", None, None, []
        for piece in pieces:
            for candidate in piece.candidates or []:
                finish = candidate.finish_reason.value if candidate.finish_reason else finish
                for part in (candidate.content and candidate.content.parts) or []:
                    text += part.text or ""
                    if part.function_call:
                        tools.append((part.function_call.name, part.function_call.args))
            if piece.usage_metadata:
                out = piece.usage_metadata.candidates_token_count
        return said(text, finish, out, tools)

    return ask


run(client)
