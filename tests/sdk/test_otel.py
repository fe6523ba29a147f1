"""Traces: a program whose own spans OpenTelemetry's SDK makes, and loomrec's joined to them,
at a collector made of grpcio and OpenTelemetry's own types."""

from __future__ import annotations

import threading
from concurrent import futures
from datetime import datetime, timedelta, timezone

import grpc
import loop as ways
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2, trace_service_pb2_grpc

PROMPTS = ("served", "faulted")


class Collector(trace_service_pb2_grpc.TraceServiceServicer):
    """Takes spans over gRPC."""

    def __init__(self, credentials: grpc.ServerCredentials | None = None) -> None:
        self.spans: list[tuple[str, object]] = []
        self.lock = threading.Lock()
        self.server = grpc.server(futures.ThreadPoolExecutor(max_workers=2))
        trace_service_pb2_grpc.add_TraceServiceServicer_to_server(self, self.server)
        if credentials is None:
            self.port = self.server.add_insecure_port("127.0.0.1:0")
        else:
            self.port = self.server.add_secure_port("127.0.0.1:0", credentials)
        self.server.start()

    def Export(self, request, context):
        with self.lock:
            for of_resource in request.resource_spans:
                names = {a.key: a.value.string_value for a in of_resource.resource.attributes}
                for scope in of_resource.scope_spans:
                    self.spans += [(names["service.name"], span) for span in scope.spans]
        return trace_service_pb2.ExportTraceServiceResponse()

    def of(self, scope_kind: int) -> list:
        """Spans of one kind."""
        with self.lock:
            return [span for _, span in self.spans if span.kind == scope_kind]


INTERNAL, SERVER, CLIENT = 1, 2, 3


@pytest.fixture
def collector():
    collector = Collector()
    yield collector
    collector.server.stop(grace=None).wait(ways.PATIENCE)


def attributes(span) -> dict:
    return {a.key: getattr(a.value, a.value.WhichOneof("value")) for a in span.attributes}


def test_spans_are_joined_to_those_of_the_program(loomrec, upstream, collector, tmp_path):
    recording = tmp_path / "recording.json"
    variables = {
        "OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{collector.port}",
        "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc",
        "OTEL_SERVICE_NAME": "agent",
    }
    recorded = loomrec.record(recording, upstream.url, [
        "env", *(f"{name}={value}" for name, value in variables.items()),
        *ways.command("openai_traced.py", *PROMPTS)])
    assert recorded.code == 0, recorded.stderr
    # Only the program's own so far: loomrec was not asked for any.
    assert len(collector.of(CLIENT)) == len(PROMPTS) and not collector.of(SERVER)
    collector.spans.clear()

    replayed = loomrec.replay(
        recording, ways.command("openai_traced.py", *PROMPTS, "missed"),
        "--otel", "--fault", "faulted=http_error:503", **variables)
    assert replayed.code == 1, replayed.stderr
    came = {call["prompt"]: call["came"] for call in replayed.document}
    assert came == {"served": "You said “served” 🙂", "faulted": 503, "missed": 422}

    server = {attributes(span)["loomrec.step_id"]: span for span in collector.of(SERVER)}
    assert sorted(server) == ["faulted", "missed", "served"]
    for call in replayed.document:
        ours = server[call["prompt"]]
        assert ours.trace_id.hex() == call["trace"]
        # It stands below the span of the very request, which stands below the program's.
        [request] = [span for span in collector.of(CLIENT) if span.span_id == ours.parent_span_id]
        [agent] = [span for span in collector.of(INTERNAL) if span.span_id == request.parent_span_id]
        assert agent.name == f"agent {call['prompt']}"
        assert {ours.trace_id, request.trace_id, agent.trace_id} == {bytes.fromhex(call["trace"])}
        assert request.start_time_unix_nano <= ours.start_time_unix_nano
        assert ours.name == "chat gpt-4o-mini"

    told = {prompt: attributes(span) for prompt, span in server.items()}
    common = {"gen_ai.operation.name": "chat", "gen_ai.system": "openai",
              "gen_ai.provider.name": "openai", "gen_ai.request.model": "gpt-4o-mini"}
    expected = {
        "served": {"loomrec.matched_by": "step_id", "loomrec.source": "recording",
                   "http.response.status_code": 200},
        "faulted": {"loomrec.fault_type": "http_error", "loomrec.fault_source": "flag",
                    "http.response.status_code": 503, "error.type": "http_error"},
        "missed": {"loomrec.mismatch_reason": "unknown request", "http.response.status_code": 422,
                   "error.type": "RecordingMismatchError"},
    }
    for prompt, parts in expected.items():
        assert told[prompt].items() >= {**common, **parts}.items(), prompt
    usage = replayed.receipt["tokens"]
    assert told["served"]["gen_ai.usage.input_tokens"] == usage["input"]
    assert told["served"]["gen_ai.usage.output_tokens"] == usage["output"]
    errors = {prompt: span.status.code == 2 for prompt, span in server.items()}
    assert errors == {"served": False, "faulted": True, "missed": True}


def own_certificate() -> tuple[bytes, bytes]:
    """A key and a certificate for localhost that vouches for itself, as PEM."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(timezone.utc)
    made = (x509.CertificateBuilder().subject_name(name).issuer_name(name)
            .public_key(key.public_key()).serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(hours=1)).not_valid_after(now + timedelta(days=1))
            .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
            .sign(key, hashes.SHA256()))
    pem = serialization.Encoding.PEM
    form, plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    return key.private_bytes(pem, form, plain), made.public_bytes(pem)


def test_spans_are_sent_over_tls_to_whom_the_certificate_vouches_for(loomrec, upstream, tmp_path):
    key, certificate = own_certificate()
    collector = Collector(grpc.ssl_server_credentials([(key, certificate)]))
    try:
        recording, trusted = tmp_path / "recording.json", tmp_path / "ca.pem"
        trusted.write_bytes(certificate)
        recorded = loomrec.record(recording, upstream.url, ways.command("openai_chat.py"))
        assert recorded.code == 0, recorded.stderr
        variables = {"OTEL_EXPORTER_OTLP_ENDPOINT": f"https://localhost:{collector.port}",
                     "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}
        stranger = loomrec.replay(recording, ways.command("openai_chat.py"), "--otel", **variables)
        assert stranger.code == 0 and "1 of 1 spans did not reach" in stranger.stderr, stranger.stderr
        assert not collector.of(SERVER)
        trusting = loomrec.replay(recording, ways.command("openai_chat.py"), "--otel", **variables,
                                  OTEL_EXPORTER_OTLP_CERTIFICATE=str(trusted))
        assert trusting.code == 0 and "traces" not in trusting.stderr, trusting.stderr
        assert len(collector.of(SERVER)) == 1
    finally:
        collector.server.stop(grace=None).wait(ways.PATIENCE)
