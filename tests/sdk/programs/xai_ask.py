"""Ask xAI's SDK each prompt, which speaks gRPC alone, and tell what came or how it failed.

usage: xai_ask.py PROMPT...
A prompt that begins with `stream` gets a stream.
"""

import importlib.metadata
import sys

import grpc
from show import emit
from xai_sdk import Client
from xai_sdk.chat import user


def ask(prompt):
    with Client(api_key="xai-none") as client:
        chat = client.chat.create(model="grok-4", messages=[user(prompt)], temperature=0.5)
        try:
            if not prompt.startswith("stream"):
                return {"value": chat.sample().content}
            return {"value": [piece.content for _, piece in chat.stream()]}
        except grpc.RpcError as error:
            return {"failed": [type(error).__name__, error.code().name, error.details()]}


emit({"version": importlib.metadata.version("xai-sdk"), "answers": [ask(prompt) for prompt in sys.argv[1:]]})
