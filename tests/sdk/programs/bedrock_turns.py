"""Bedrock by boto3: converse and converse-stream, and Claude by invoke."""

import json
import os

import boto3
from botocore.config import Config
from turns import SCHEMA, meaning, run

# Replay gives no stand-in for AWS's keys: it would hide a profile from other clients.
os.environ.setdefault("AWS_ACCESS_KEY_ID", "AKIDEXAMPLE")
os.environ.setdefault("AWS_SECRET_ACCESS_KEY", "none")
MODEL = "us.anthropic.claude-haiku-4-5-20251001-v1:0"
TOOL = {"toolSpec": {"name": "get_weather", "description": "The weather", "inputSchema": {"json": SCHEMA}}}


def client_for(headers):
    once = Config(retries={"total_max_attempts": 1})
    client = boto3.client("bedrock-runtime", region_name="us-east-1", config=once)
    client.meta.events.register(
        "before-send.bedrock-runtime", lambda request, **_: request.headers.update(headers))
    return client


def collected(events):
    text, finish, usage, calls = "", None, None, {}
    for event in events:
        (kind, told), = event.items()
        if kind == "contentBlockStart":
            tool = told["start"]["toolUse"]
            calls[told["contentBlockIndex"]] = [tool["toolUseId"], tool["name"], ""]
        elif kind == "contentBlockDelta":
            text += told["delta"].get("text", "")
            if "toolUse" in told["delta"]:
                calls[told["contentBlockIndex"]][2] += told["delta"]["toolUse"]["input"]
        elif kind == "messageStop":
            finish = told["stopReason"]
        elif kind == "metadata":
            usage = [told["usage"]["inputTokens"], told["usage"]["outputTokens"]]
    return meaning(text, finish, usage, [(i, name, json.loads(given)) for i, name, given in calls.values()])


def ask(turn):
    client = client_for(turn.headers)
    question = {"modelId": MODEL, "messages": [{"role": "user", "content": [{"text": turn.prompt}]}]}
    if turn.tools:
        question["toolConfig"] = {"tools": [TOOL]}
    if turn.streamed:
        events = list(client.converse_stream(**question)["stream"])
        return collected(events), events
    answer = client.converse(**question)
    told = answer.pop("ResponseMetadata")
    content = answer["output"]["message"]["content"]
    calls = [(c["toolUse"]["toolUseId"], c["toolUse"]["name"], c["toolUse"]["input"]) for c in content if "toolUse" in c]
    usage = [answer["usage"]["inputTokens"], answer["usage"]["outputTokens"]]
    said = meaning("".join(part.get("text", "") for part in content), answer["stopReason"], usage, calls)
    return said, {"answer": answer, "status": told["HTTPStatusCode"]}


def invoke():
    client = client_for({})
    body = json.dumps({"anthropic_version": "bedrock-2023-05-31", "max_tokens": 99,
                       "messages": [{"role": "user", "content": "hello claude"}]})
    complete = client.invoke_model(modelId=MODEL, body=body)["body"].read()
    streamed = client.invoke_model_with_response_stream(modelId=MODEL, body=body)["body"]
    return {"complete": json.loads(complete), "streamed": [json.loads(event["chunk"]["bytes"]) for event in streamed]}


run(ask, statuses=(400, 403, 429, 500), scenes=("fail midway", "hang up midway"), invoke=invoke)
