"""A program with Open Interpreter: one prompt, with the shell."""

import os

from interpreter import interpreter

interpreter.auto_run = True
interpreter.disable_telemetry = True
interpreter.llm.model = "openai/gpt-4o"
interpreter.llm.api_base = os.environ["OPENAI_BASE_URL"]
interpreter.llm.supports_functions = True
interpreter.chat(os.environ["PROMPT"])
