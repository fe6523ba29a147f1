"""AWS as a scripted upstream: the proxy that leads to it, its TLS, and a check of each signature by
botocore's own signer."""

from __future__ import annotations

import ssl
from dataclasses import dataclass, field, replace

import answers_bedrock
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from upstream import Request, Upstream
from wire import Reply, dump

import loop as ways

HOST = "bedrock-runtime.us-east-1.amazonaws.com"


@dataclass
class SignedUpstream(Upstream):
    """A proxy at `url`; `context` has the certificate of the host behind it."""

    context: ssl.SSLContext | None = None
    #: The headers that each request signed; None where its signature is wrong.
    signed: list[list[str] | None] = field(default_factory=list)

    def _serve(self, connection) -> None:
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            if not (more := connection.recv(1)):
                return
            head += more
        assert head.startswith(f"CONNECT {HOST}:443 ".encode()), head
        connection.sendall(b"HTTP/1.1 200 Connected\r\n\r\n")
        super()._serve(self.context.wrap_socket(connection, server_side=True))

    def _reply(self, request: Request) -> Reply:
        names = signed_headers(request)
        self.signed.append(names)
        if names is None:
            message = "The request signature we calculated does not match the signature you provided."
            return Reply(status=403, body=dump(answers_bedrock.error(403, message)),
                         headers=[("content-type", "application/json"),
                                  ("x-amzn-errortype", "InvalidSignatureException")])
        return super()._reply(replace(request, path=f"/bedrock{request.path}"))


def signed_headers(request: Request) -> list[str] | None:
    """The names of the headers that are signed; None where the signature is wrong. It is over the
    method, the raw path, the query, these headers and the body."""
    told = dict(part.split("=", 1) for part in request.headers["authorization"].split(" ", 1)[1].split(", "))
    key, _date, region, service, _end = told["Credential"].split("/")
    names = told["SignedHeaders"].split(";")
    again = AWSRequest(request.method, f"https://{request.headers['host']}{request.path}", data=request.body,
                       headers={name: request.headers.get(name, "") for name in names})
    again.context["timestamp"] = request.headers["x-amz-date"]
    signer = SigV4Auth(Credentials(key, ways.KEYS["AWS_SECRET_ACCESS_KEY"]), service, region)
    text = signer.string_to_sign(again, signer.canonical_request(again))
    return names if signer.signature(text, again) == told["Signature"] else None
