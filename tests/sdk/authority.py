"""A certificate authority of these tests' own, and a certificate of a host under it."""

from __future__ import annotations

import datetime
import ipaddress
import ssl
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

AUTHORITY = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "loomrec SDK tests")])


def server_context(folder: Path, host: str = "127.0.0.1") -> ssl.SSLContext:
    """The settings of a server at a host; its authority's certificate is `authority.pem` in the folder."""
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, host)])
    authority_key, server_key = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
    authority = (_builder(AUTHORITY, authority_key)
                 .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
                 .add_extension(x509.KeyUsage(False, False, False, False, False, True, True, False, False),
                                critical=True)
                 .sign(authority_key, hashes.SHA256()))
    is_name = host[-1].isalpha()
    address = x509.DNSName(host) if is_name else x509.IPAddress(ipaddress.ip_address(host))
    issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key())
    server = (_builder(subject, server_key)
              .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
              .add_extension(x509.SubjectAlternativeName([address]), critical=False)
              .add_extension(issuer, critical=False)
              .sign(authority_key, hashes.SHA256()))
    pem = serialization.Encoding.PEM
    (folder / "authority.pem").write_bytes(authority.public_bytes(pem))
    (folder / "server.pem").write_bytes(server.public_bytes(pem) + server_key.private_bytes(
        pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "server.pem")
    return context


def _builder(subject: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (x509.CertificateBuilder().subject_name(subject).issuer_name(AUTHORITY)
            .public_key(key.public_key()).serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(hours=1))
            .not_valid_after(now + datetime.timedelta(days=1))
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False))
