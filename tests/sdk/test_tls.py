"""The TLS of the listener and of a tunnel, as sslyze sees it: nothing weak."""

import json
import os
import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import loop as ways
from authority import server_context

SSLYZE = Path(os.environ.get("LOOMREC_SDK_SSLYZE", Path(__file__).parents[2] / ".cache/sdk/sslyze"))
#: What is looked at, beside the certificate.
LOOKED_AT = ("sslv2", "sslv3", "tlsv1", "tlsv1_1", "tlsv1_2", "tlsv1_3", "compression", "reneg", "heartbleed",
             "openssl_ccs", "robot", "fallback", "early_data", "elliptic_curves", "ems")
OBSOLETE = ("ssl_2_0", "ssl_3_0", "tls_1_0", "tls_1_1")
STRONG = {
    "tls_1_2": {"TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256", "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
                "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256"},
    "tls_1_3": {"TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"},
}
CURVES = {"X25519", "prime256v1", "secp256r1", "secp384r1"}
# Each with the field that says so, and its good value.
DEFENCES = {
    "tls_compression": ("supports_compression", False),
    "session_renegotiation": ("is_vulnerable_to_client_renegotiation_dos", False),
    "heartbleed": ("is_vulnerable_to_heartbleed", False),
    "openssl_ccs_injection": ("is_vulnerable_to_ccs_injection", False),
    "robot": ("robot_result", "NOT_VULNERABLE_RSA_NOT_SUPPORTED"),
    "tls_fallback_scsv": ("supports_fallback_scsv", True),
    "tls_1_3_early_data": ("supports_early_data", False),
    "tls_extended_master_secret": ("supports_ems_extension", True),
}


def scan(out: Path, *given: str) -> tuple[list[str], dict[str, str]]:
    """The command line that writes what sslyze finds, and the variables that it needs."""
    python, variables = ways.python_of(SSLYZE)
    line = [python, "-W", "ignore", "-m", "sslyze", "--quiet", "--mozilla_config=disable", f"--json_out={out}",
            "--certinfo", *(f"--{name}" for name in LOOKED_AT), *given]
    return line, variables


def found(out: Path) -> dict[str, dict]:
    """The result of each look."""
    (server,) = json.loads(out.read_text(encoding="utf-8"))["server_scan_results"]
    assert server["scan_status"] == "COMPLETED", server
    looks = {name: look for name, look in server["scan_result"].items() if look and look["status"] != "NOT_SCHEDULED"}
    assert len(looks) == len(LOOKED_AT) + 1
    assert {look["status"] for look in looks.values()} == {"COMPLETED"}, looks
    return {name: look["result"] for name, look in looks.items()}


def weaknesses(looks: dict[str, dict]) -> list[str]:
    """What is wrong, in words."""
    suites = {version: {suite["cipher_suite"]["name"] for suite in looks[f"{version}_cipher_suites"]["accepted_cipher_suites"]}
              for version in (*OBSOLETE, *STRONG)}
    curves = {curve["name"] for curve in looks["elliptic_curves"]["supported_curves"]}
    (certificate,) = looks["certificate_info"]["certificate_deployments"]
    paths = {path["trust_store"]["name"]: path for path in certificate["path_validation_results"]}
    return [
        *(f"{version} is accepted" for version in OBSOLETE if suites[version]),
        *(f"{version} is refused" for version in STRONG if not suites[version]),
        *(f"{suite} is accepted" for version in STRONG for suite in sorted(suites[version] - STRONG[version])),
        *(f"{curve} is accepted" for curve in sorted(curves - CURVES)),
        *(f"{name}: {field} is {looks[name][field]}" for name, (field, good) in DEFENCES.items() if looks[name][field] != good),
        *(["the certificate is not valid"] if not paths["Supplied CA file"]["was_validation_successful"] else []),
        *(["the chain has a wrong order"] if not certificate["received_chain_has_valid_order"] else []),
    ]


LISTENER, TUNNEL = ['"${LOOMREC_URL#*://}"'], ['"--https_tunnel=$HTTPS_PROXY"', "api.openai.com:443"]


@pytest.mark.parametrize(("where", "is_own"), [(LISTENER, False), (TUNNEL, False), (LISTENER, True)],
                         ids=["listener", "tunnel", "own certificate"])
def test_nothing_of_its_tls_is_weak(where, is_own, loomrec, tmp_path):
    out, flags, authority = tmp_path / "scan.json", ["--intercept"], '"$NODE_EXTRA_CA_CERTS"'
    if is_own:
        server_context(tmp_path)
        pem, authority = str(tmp_path / "server.pem"), str(tmp_path / "authority.pem")
        flags = ["--tls-cert", pem, "--tls-key", pem]
    line, variables = scan(out)
    words = " ".join(['exec "$@"', f"--certinfo_ca_file={authority}", *where])
    ran = loomrec.run("record", tmp_path / "recording.json", flags, ["sh", "-c", words, "sh", *line], **variables)
    assert out.exists(), ran.stdout + ran.stderr
    assert weaknesses(found(out)) == []


class Answer(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_error(404)

    def log_message(self, *_):
        pass


def test_weak_server_is_found_weak(tmp_path):
    context = server_context(tmp_path)
    context.minimum_version = ssl.TLSVersion.TLSv1
    context.set_ciphers("ALL:@SECLEVEL=0")
    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    out = tmp_path / "scan.json"
    line, variables = scan(out, f"--certinfo_ca_file={tmp_path / 'authority.pem'}", f"127.0.0.1:{server.server_port}")
    ran = ways.execute(line, ways.environment(**variables), tmp_path)
    server.shutdown()
    assert out.exists(), ran.stdout + ran.stderr
    seen = weaknesses(found(out))
    assert {"tls_1_0 is accepted", "tls_1_1 is accepted", "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA is accepted"} <= {*seen}, seen
