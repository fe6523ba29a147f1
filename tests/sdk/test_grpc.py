"""gRPC by its official library: recorded through interception, and replayed with the server gone."""

import os
import sys
from concurrent import futures

import grpc
import pytest

import client_table
import loop as ways
from authority import server_context

TRAILERS = {"x-cost": "3", "x-proof-bin": b"\x00\xff,%"}
SHOWN = {"x-cost": "3", "x-proof-bin": "00ff2c25"}
KEY = "xai-" + "Canary0" * 12


def ask(request, context):
    prompt = request.decode()
    context.set_trailing_metadata(TRAILERS.items())
    if prompt == "fail":
        context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "50 % of the quota, ä")
    return f"You said {prompt}.".encode()


def listen(request, context):
    yield from (f"{number} {request.decode()}".encode() for number in range(3))
    context.set_trailing_metadata(TRAILERS.items())
    if request == b"stream fail":
        context.abort(grpc.StatusCode.UNAVAILABLE, "no more")


@pytest.fixture(params=["http", "https"])
def oracle(request, tmp_path_factory):
    """A server of gRPC: the flag that leads to it, and what has it trusted."""
    server = grpc.server(futures.ThreadPoolExecutor(4))
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler("fake.v1.Oracle", {
        "Ask": grpc.unary_unary_rpc_method_handler(ask),
        "Listen": grpc.unary_stream_rpc_method_handler(listen),
    })])
    trust = {}
    if request.param == "https":
        folder = tmp_path_factory.mktemp("grpc")
        server_context(folder)
        pem = (folder / "server.pem").read_bytes()
        port = server.add_secure_port("127.0.0.1:0", grpc.ssl_server_credentials([(pem, pem)]))
        trust = {"SSL_CERT_FILE": str(folder / "authority.pem")}
    else:
        port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    server.flag, server.trust = f"--upstream=xai={request.param}://127.0.0.1:{port}", trust
    yield server
    server.stop(None).wait()


def line(*prompts):
    return ways.command("grpc_ask.py", *prompts)


def answered(*messages, code="OK", details=""):
    return {"messages": list(messages), "code": code, "details": details, "trailers": SHOWN}


def test_calls_over_grpc_are_recorded_and_replayed(loomrec, alone, oracle, tmp_path):
    recording = tmp_path / "recording.json"
    prompts = ("hi", "stream me", "fail", "stream fail")
    recorded = loomrec.run("record", recording, [oracle.flag, "--intercept"], line(*prompts), XAI_API_KEY=KEY,
                           **oracle.trust)
    expected = [
        answered("You said hi."),
        answered("0 stream me", "1 stream me", "2 stream me"),
        answered(code="RESOURCE_EXHAUSTED", details="50 % of the quota, ä"),
        answered("0 stream fail", "1 stream fail", "2 stream fail", code="UNAVAILABLE", details="no more"),
    ]
    assert recorded.document == expected, recorded.stderr
    receipt = recorded.receipt
    assert (recorded.code, receipt["recorded"], receipt["escapes"]) == (0, 4, []), recorded.stderr
    assert receipt["failed_calls"] == {"failed": 2}, receipt
    assert KEY not in recording.read_text(encoding="utf-8")
    oracle.stop(None).wait()

    replayed = alone(recording, line(*prompts), "--intercept", "--fail-unused")
    assert (replayed.code, replayed.document) == (0, expected), replayed.stderr
    changed = alone(recording, line("hi!", "stream mf"), "--intercept")
    assert [it["code"] for it in changed.document] == ["FAILED_PRECONDITION"] * 2, changed.stderr
    assert all(it["details"].startswith("RecordingMismatchError") for it in changed.document)
    assert (changed.code, changed.receipt["missed"], changed.receipt["served"]) == (1, 2, 0)
    # A failed take is known as one.
    listed = ways.execute([loomrec.binary, "stats", str(recording), "--json"], ways.environment(), tmp_path)
    assert '"failed": 2' in listed.stdout, listed.stdout


def test_upstream_that_is_gone_is_unavailable(loomrec, oracle, tmp_path):
    oracle.stop(None).wait()
    recorded = loomrec.run("record", tmp_path / "recording.json", [oracle.flag, "--intercept", "--allow-empty"],
                           line("hi"), **oracle.trust)
    (answer,) = recorded.document
    assert answer["code"] == "UNAVAILABLE" and "unreachable" in answer["details"].lower(), answer


@pytest.mark.parametrize("fault, code", [("http_error:503", "UNAVAILABLE"), ("connection_reset", "INTERNAL"),
                                         ("http_error:401", "UNAUTHENTICATED")])
def test_fault_reaches_a_client_over_grpc(loomrec, alone, oracle, tmp_path, fault, code):
    recording = tmp_path / "recording.json"
    recorded = loomrec.run("record", recording, [oracle.flag, "--intercept"], line("hi"), **oracle.trust)
    assert recorded.code == 0, recorded.stderr
    struck = alone(recording, line("hi", "hi"), "--intercept", f"--fault={fault};times=1")
    first, second = struck.document
    assert first["code"] == code, first
    assert second == answered("You said hi."), struck.stderr


@pytest.fixture
def grok():
    """xAI's service of chats, as its own definitions have it."""
    sys.path.insert(0, os.environ["LOOMREC_SDK_XAI"])
    try:
        from xai_sdk.proto import chat_pb2, chat_pb2_grpc
    finally:
        sys.path.remove(os.environ["LOOMREC_SDK_XAI"])

    def prompt_of(request):
        return request.messages[-1].content[0].text

    class Grok(chat_pb2_grpc.ChatServicer):
        def GetCompletion(self, request, context):
            message = chat_pb2.CompletionMessage(content=f"You said “{prompt_of(request)}” 🙂", role="ROLE_ASSISTANT")
            return chat_pb2.GetChatCompletionResponse(id="1", model=request.model, outputs=[
                chat_pb2.CompletionOutput(message=message, finish_reason="REASON_STOP")])

        def GetCompletionChunk(self, request, context):
            for word in prompt_of(request).split():
                delta = chat_pb2.Delta(content=f"{word} ", role="ROLE_ASSISTANT")
                yield chat_pb2.GetChatCompletionChunk(id="1", model=request.model, outputs=[
                    chat_pb2.CompletionOutputChunk(delta=delta)])

    server = grpc.server(futures.ThreadPoolExecutor(4))
    chat_pb2_grpc.add_ChatServicer_to_server(Grok(), server)
    server.flag = f"--upstream=xai=http://127.0.0.1:{server.add_insecure_port('127.0.0.1:0')}"
    server.start()
    yield server
    server.stop(None).wait()


def test_sdk_of_xai_is_recorded_and_replayed(loomrec, alone, grok, tmp_path):
    def asked(*prompts):
        return ways.command("xai_ask.py", *prompts)

    recording, path = tmp_path / "recording.json", {"PYTHONPATH": os.environ["LOOMREC_SDK_XAI"]}
    recorded = loomrec.run("record", recording, [grok.flag, "--intercept"], asked("hi", "stream to me"), **path)
    said = [{"value": "You said “hi” 🙂"}, {"value": ["stream ", "to ", "me "]}]
    assert (recorded.code, recorded.document["answers"]) == (0, said), recorded.stderr
    grok.stop(None).wait()
    replayed = alone(recording, asked("hi", "stream to me"), "--intercept", "--fail-unused", **path)
    assert (replayed.code, replayed.document["answers"]) == (0, said), replayed.stderr
    missed = alone(recording, asked("hi!", "stream to them"), "--intercept", **path)
    kinds = [answer["failed"][:2] for answer in missed.document["answers"]]
    assert [code for _, code in kinds] == ["FAILED_PRECONDITION"] * 2, missed.stderr
    assert (missed.code, missed.receipt["missed"]) == (1, 2)
    client_table.check_row("xai-sdk, by gRPC", recorded.document["version"], "–", "yes",
                           "`" + kinds[0][0] + "`, " + kinds[0][1], "–")
