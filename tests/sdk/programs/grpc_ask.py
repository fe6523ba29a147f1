"""Ask a service over gRPC each prompt, and tell what came, with its trailing metadata.

usage: grpc_ask.py PROMPT...
A prompt that begins with `stream` gets a stream.
"""

import os
import sys

import grpc
from show import emit

METADATA = [("authorization", f"Bearer {os.environ.get('XAI_API_KEY', 'none')}")]


def ask(channel, prompt):
    """The messages of an answer, how the call ended, and what followed the last message."""
    kind, name = ("unary_stream", "Listen") if prompt.startswith("stream") else ("unary_unary", "Ask")
    call = getattr(channel, kind)(f"/fake.v1.Oracle/{name}")
    messages = []
    try:
        if kind == "unary_stream":
            ended = call(prompt.encode(), metadata=METADATA, timeout=30)
            messages.extend(message.decode() for message in ended)
        else:
            message, ended = call.with_call(prompt.encode(), metadata=METADATA, timeout=30)
            messages.append(message.decode())
    except grpc.RpcError as error:
        ended = error
    # The head of an answer without a message is its end: a replay's names what it was found by.
    trailers = {name: value if isinstance(value, str) else value.hex() for name, value in ended.trailing_metadata()
                if not name.startswith("x-loomrec-")}
    return {"messages": messages, "code": ended.code().name, "details": ended.details(), "trailers": trailers}


with grpc.secure_channel("api.x.ai:443", grpc.ssl_channel_credentials()) as channel:
    emit([ask(channel, prompt) for prompt in sys.argv[1:]])
