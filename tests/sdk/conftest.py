"""The fixtures: a scripted upstream, aimock, the binary, and the whole loop."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import time
from pathlib import Path

import pytest

import loop as ways
import resolved
from authority import server_context
from upstream import Upstream

BARE = os.environ.get("LOOMREC_SDK_BARE") == "1"
MITMPROXY = Path(os.environ.get("LOOMREC_SDK_MITMPROXY", Path(__file__).parents[2] / ".cache/sdk/mitmproxy"))
AIMOCK = ways.NODE_HOME / "node_modules/@copilotkit/aimock/dist/cli.js"
collect_ignore = ["pytest_project"]


@pytest.fixture
def upstream(request, tmp_path_factory):
    """Our scripted upstream; told to `go_dark()` it counts who still comes. The parameter
    `https` puts it behind TLS, under an authority that only `upstream.trust` names."""
    if getattr(request, "param", "http") == "https":
        folder = tmp_path_factory.mktemp("certificates")
        upstream = Upstream(tls=server_context(folder))
        authority = str(folder / "authority.pem")
        upstream.trust = {"SSL_CERT_FILE": authority, "NODE_EXTRA_CA_CERTS": authority}
    else:
        upstream = Upstream()
    yield upstream
    upstream.close()


@pytest.fixture
def loomrec(tmp_path) -> ways.Loomrec:
    """The binary given by LOOMREC_BIN."""
    if BARE:
        pytest.skip("a bare run: only the programs and the upstream are checked")
    return ways.Loomrec(os.environ["LOOMREC_BIN"], tmp_path)


@pytest.fixture
def alone(loomrec, tmp_path):
    """Replays on a machine of its own, if the system permits that: nothing connects to any host."""
    counts = tmp_path / "counts.json"

    def replay(*words, **variables):
        loomrec.machine = resolved.machine(counts) or []
        replayed = loomrec.replay(*words, **variables)
        assert replayed.receipt["upstream_connections"] == 0
        assert not loomrec.machine or resolved.connections(counts) == 0
        return replayed

    return replay


@pytest.fixture
def aimock(tmp_path):
    """aimock from npm on a free port, as a child process."""
    fixtures = Path(__file__).parent / "aimock.json"
    child = subprocess.Popen(
        ["node", str(AIMOCK), "--port", "0", "--fixtures", str(fixtures), "--strict", "--chunk-size", "5"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", cwd=tmp_path)
    for line in child.stdout:
        if (found := re.search(r"listening on (http://\S+)", line)) is not None:
            child.url = found[1]
            break
    else:
        pytest.fail(f"aimock did not start: exit {child.wait()}")
    yield child
    stop(child)


@pytest.fixture
def mitmproxy(tmp_path):
    """mitmproxy in front of an upstream: its address, and the HAR file it leaves."""

    @contextlib.contextmanager
    def start(upstream: str):
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        har = tmp_path / "traffic.har"
        python, variables = ways.python_of(MITMPROXY)
        started = "from mitmproxy.tools.main import mitmdump; mitmdump()"
        child = subprocess.Popen(
            [python, "-c", started, "--mode", f"reverse:{upstream}", "--listen-host", "127.0.0.1",
             "--listen-port", str(port), "--set", f"hardump={har}",
             "--set", f"confdir={tmp_path / 'mitmproxy'}"],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, encoding="utf-8", cwd=tmp_path,
            env={**os.environ, **variables})
        try:
            answers(port, child)
            yield f"http://127.0.0.1:{port}", har
            child.send_signal(signal.SIGINT)
            said, _ = child.communicate(timeout=ways.PATIENCE)
            assert har.exists(), said
        finally:
            stop(child)

    return start


def answers(port: int, child: subprocess.Popen) -> None:
    """Returns once somebody listens there."""
    until = time.monotonic() + ways.PATIENCE
    while time.monotonic() < until and child.poll() is None:
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", port)).close()
            return
        time.sleep(0.05)
    pytest.fail(f"mitmproxy did not start: exit {child.poll()}")


def stop(child: subprocess.Popen) -> None:
    child.kill()
    child.wait()
    child.stdout.close()


@pytest.fixture
def whole_loop(upstream, tmp_path, request):
    """Runs a program directly, recorded, and replayed with the upstream gone: it must
    see the same three times. Returns what it saw, and the recording. `addresses` are
    for a program whose variables are not those of `direct`."""

    def run(program: str, *arguments: str, addresses: dict[str, str] | None = None):
        line = ways.command(program, *arguments)
        bare = ways.direct(upstream.url, line, tmp_path, {**upstream.trust, **(addresses or {})})
        assert bare.code == 0, bare.stderr
        if BARE:
            return bare.document, None
        loomrec = request.getfixturevalue("loomrec")
        recording = tmp_path / "recording.json"
        seen_bare = sorted(r.seen() for r in upstream.requests)
        upstream.forget()

        recorded = loomrec.record(recording, upstream.url, line, **upstream.trust)
        assert recorded.code == 0, recorded.stderr
        assert recorded.document == bare.document, "recording changed what the program saw"
        seen_recorded = sorted(r.seen() for r in upstream.requests)
        assert seen_recorded == seen_bare, "recording changed what the upstream saw"
        assert len(ways.entries(recording)) == len(seen_bare), "not every call was kept"

        upstream.go_dark()
        kept = recording.read_bytes()
        replayed = loomrec.replay(recording, line)
        assert replayed.code == 0, replayed.stderr
        assert replayed.document == bare.document, "replay differs from what was recorded"
        assert_green(replayed, upstream)
        assert recording.read_bytes() == kept, "replaying changed the recording"
        ways.assert_no_key_below(tmp_path, recorded.stderr, replayed.stderr)
        return replayed.document, recording

    return run


def assert_green(replayed: ways.Outcome, upstream: Upstream | None = None) -> None:
    """Nothing was missed, and nobody called out."""
    assert replayed.receipt["missed"] == 0, replayed.receipt
    assert replayed.receipt["upstream_connections"] == 0, replayed.receipt
    if upstream is not None:
        assert upstream.connections_in_the_dark == 0, "replay called the upstream"
