"""How the programs of this folder tell what they saw: one JSON document on stdout."""

import base64
import json
import sys

HEADERS = ("content-type", "content-encoding", "x-request-id", "retry-after",
           "x-ratelimit-remaining-requests")


def emit(document):
    json.dump(document, sys.stdout, indent=1, sort_keys=True)


def raw(content):
    """Bytes as JSON can hold them."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(content).decode()}


def headers(response):
    return {name: response.headers[name] for name in HEADERS if name in response.headers}


def failure(error):
    """A typed exception: what a caller can catch and read."""
    return {
        "class": type(error).__name__,
        "family": type(error).__module__.split(".")[0],
        "parents": [parent.__name__ for parent in type(error).__mro__[1:-3]],
        "status": getattr(error, "status_code", None) or getattr(error, "code", None),
        "body": getattr(error, "body", None) or getattr(error, "details", None),
        "cause": type(error.__cause__).__name__,
        "message": str(error),
    }


def attempt(call):
    """What a call gave, or how it failed."""
    try:
        return {"value": call()}
    except Exception as error:  # the class is what this program is here to tell
        return {"failed": failure(error)}


def drained(events):
    """What came out of a stream until it ended, and how it ended."""
    seen = []
    try:
        for event in events:
            seen.append(event.model_dump(mode="json"))
    except Exception as error:
        return {"events": seen, "failed": failure(error)}
    return {"events": seen}
