"""Tests of hubs: many sessions of several processes over TLS, on one hub, and on two behind nginx."""

import contextlib
import json
import os
import pathlib
import pwd
import re
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import unittest

from client import Hub

HERE = pathlib.Path(__file__).resolve().parent
LOOMREC = os.environ["LOOMREC_BIN"]
NGINX = os.environ.get("LOOMREC_NGINX")
TOKEN = "a token of this run"
SESSIONS, CLIENTS, CALLS, TAKES = 200, 4, 4, 10_000


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def write_certificate(folder):
    names = "subjectAltName=DNS:localhost,IP:127.0.0.1"
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
    command += ["-nodes", "-days", "2", "-subj", "/CN=loomrec hub", "-addext", names]
    command += ["-keyout", folder / "key.pem", "-out", folder / "cert.pem"]
    subprocess.run(command, check=True, capture_output=True)


def write_recording(path):
    """A recording of many steps, and of one stream with a pause."""
    entries = {"_version": 2, "_loomrec": {"format": "1.0"}}
    for at in range(TAKES - 1):
        entries[f"s{at:07}"] = {"response": {"status": 200, "text": f"answer {at}"}}
    chunks = [[0.0, "data: first\n\n"], [700.0, "data: last\n\n"]]
    headers = {"content-type": "text/event-stream"}
    entries["stream"] = {"response": {"status": 200, "headers": headers, "chunks": chunks}}
    path.write_text(json.dumps(entries))


class Process:
    """A server: loomrec, or nginx."""

    def __init__(self, command, folder, log, user=None):
        self.log = folder / log
        with self.log.open("w") as log_file:
            self.child = subprocess.Popen(
                command, cwd=folder, stdout=log_file, stderr=log_file, user=user
            )

    def wait_until(self, is_up):
        for _ in range(1000):
            if self.child.poll() is not None:
                raise AssertionError(f"ended: {self.log.read_text()}")
            with contextlib.suppress(OSError):
                if is_up():
                    return self
            time.sleep(0.01)
        raise AssertionError(f"never came up: {self.log.read_text()}")

    def resident_kb(self):
        status = pathlib.Path(f"/proc/{self.child.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", status)[1])

    def stop(self):
        """Ends it at once, whatever sessions are open, and returns its exit code."""
        if self.child.poll() is None:
            self.child.send_signal(signal.SIGINT)
        try:
            return self.child.wait(20)
        except subprocess.TimeoutExpired:
            self.child.kill()
            raise


class HubCase(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory(prefix="loomrec-hub-")
        cls.folder = pathlib.Path(cls.temporary.name)
        write_certificate(cls.folder)
        write_recording(cls.folder / "run.json")
        cls.authority = str(cls.folder / "cert.pem")

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def hub(self, port, *flags):
        command = [LOOMREC, "replay", "-r", "run.json", "--listen", f"127.0.0.1:{port}"]
        command += ["--tls-cert", "cert.pem", "--tls-key", "key.pem", "--control-token", TOKEN]
        command += ["--sessions-by-control", "--receipt", f"receipt-{port}.json", *flags]
        process = Process(command, self.folder, f"hub-{port}.log")
        self.addCleanup(process.stop)
        return process.wait_until(lambda: self.is_ready(port))

    def is_ready(self, port):
        with Hub(("127.0.0.1", port), self.authority) as client:
            status, text, _ = client.send("GET", "/__loomrec/ready")
        return status == 200 and json.loads(text) == {"ready": True}

    def connect(self, port):
        client = Hub(("127.0.0.1", port), self.authority)
        self.addCleanup(client.connection.close)
        return client

    def receipt(self, port):
        return json.loads((self.folder / f"receipt-{port}.json").read_text())

    def run_clients(self, port, bad):
        """Runs all sessions in client processes. Returns how long the slowest took, in seconds."""
        clients = []
        for client in range(CLIENTS):
            orders = {
                "address": ["127.0.0.1", port],
                "authority": self.authority,
                "token": TOKEN,
                "name": "gw",
                "numbers": list(range(client, SESSIONS, CLIENTS)),
                "bad": bad,
                "calls": CALLS,
                "takes": TAKES,
                "threads": 4,
            }
            pipe = subprocess.PIPE
            child = subprocess.Popen(
                [sys.executable, HERE / "client.py"], stdin=pipe, stdout=pipe, stderr=pipe, text=True
            )
            clients.append((child, json.dumps(orders)))
        for child, orders in clients:
            child.stdin.write(orders)
            child.stdin.close()
        took = 0.0
        for child, _ in clients:
            said, complained = child.stdout.read(), child.stderr.read()
            self.assertEqual(child.wait(), 0, complained)
            child.stdout.close()
            child.stderr.close()
            seen = json.loads(said)
            self.assertEqual(seen["errors"], [])
            took = max(took, seen["seconds"])
        return took

    def check_run(self, receipt, opened, bad):
        """Checks the receipt of a run: the framework has judged its sessions."""
        self.assertEqual((receipt["verdict"], receipt["complaints"]), ("ok", []))
        self.assertEqual((receipt["missed"], receipt["mismatches"]), (0, []))
        sessions = receipt["sessions"]
        counts = [sessions[name] for name in ("opened", "ended", "failed", "missed")]
        self.assertEqual(counts, [opened, opened, 0, bad])
        self.assertEqual(sessions["served"], opened * CALLS - bad)
        failed = [one for one in sessions["listed"] if one["verdict"] != "ok"]
        self.assertEqual((len(failed), sessions["left_open"]), (bad, []))


class OneHub(HubCase):
    def test_every_session_has_a_receipt_of_its_own(self):
        port = free_port()
        hub = self.hub(port)
        took = self.run_clients(port, bad=[77])
        before = hub.resident_kb()
        self.run_clients(port, bad=[77])
        grown = hub.resident_kb() - before
        print(f"one hub: {SESSIONS} sessions in {took:.2f} s; as many again: {grown} kB more")
        # Nothing of a session that has ended stays, except its line in the receipt.
        self.assertLess(grown, 60_000)
        _, listed, _ = self.connect(port).send(
            "GET", "/__loomrec/sessions", headers={"x-loomrec-token": TOKEN}
        )
        self.assertEqual((json.loads(listed)["open"], json.loads(listed)["ended"]), ([], 2 * SESSIONS))
        self.assertEqual(hub.stop(), 0)
        self.check_run(self.receipt(port), 2 * SESSIONS, 2)

    def test_many_open_sessions_take_little_memory(self):
        port = free_port()
        hub = self.hub(port)
        client = self.connect(port)
        before, began = hub.resident_kb(), time.monotonic()
        for number in range(SESSIONS):
            client.control(TOKEN, f"/@m{number}/__loomrec/session", {}, 201)
            self.assertEqual(client.call(f"m{number}", "s0000001")[:2], (200, "answer 1"))
        each = (hub.resident_kb() - before) / SESSIONS
        took = (time.monotonic() - began) / SESSIONS * 1000
        print(f"open sessions: {each:.0f} kB and {took:.1f} ms each, over {TAKES} takes")
        self.assertLess(each, 250)
        self.assertEqual(hub.stop(), 0)
        self.assertEqual(len(self.receipt(port)["sessions"]["left_open"]), SESSIONS)

    def test_wrong_tokens_and_calls_outside_of_sessions_are_refused(self):
        port = free_port()
        hub = self.hub(port)
        client = self.connect(port)
        client.control("wrong", "/@x/__loomrec/session", {}, 403)
        client.control("wrong", "/__loomrec/session", {"prefix": "x"}, 403)
        for prefix in ("x", "other"):
            self.assertEqual(client.call(prefix, "s0000001")[0], 400)
        self.assertEqual(client.send("GET", "/__loomrec/health")[0], 403)
        self.assertEqual(hub.stop(), 1)

    def test_sessions_expire(self):
        port = free_port()
        hub = self.hub(port, "--session-idle", "1")
        client = self.connect(port)
        for number in range(3):
            client.control(TOKEN, f"/@e{number}/__loomrec/session", {}, 201)
        for _ in range(500):
            headers = {"x-loomrec-token": TOKEN}
            _, listed, _ = client.send("GET", "/__loomrec/sessions", headers=headers)
            if not json.loads(listed)["open"]:
                break
            time.sleep(0.02)
        client.control(TOKEN, "/@e0/__loomrec/session/end", {}, 404)
        client.control(TOKEN, "/@e3/__loomrec/session", {}, 201)
        self.assertEqual(hub.stop(), 0)
        self.assertEqual(len(self.receipt(port)["sessions"]["left_open"]), 4)

    def test_certificate_that_the_client_does_not_trust_ends_the_handshake(self):
        port = free_port()
        hub = self.hub(port)
        with self.assertRaises(ssl.SSLCertVerificationError):
            with socket.create_connection(("127.0.0.1", port)) as plain:
                ssl.create_default_context().wrap_socket(plain, server_hostname="localhost")
        self.assertTrue(self.is_ready(port))
        self.assertEqual(hub.stop(), 0)


@unittest.skipUnless(NGINX, "nginx is not there: see tests/hub/install")
class TwoHubs(HubCase):
    def nginx(self, hubs):
        """Starts nginx with the very configuration that docs/hub.md shows, on free ports."""
        port, folder = free_port(), self.folder / "nginx"
        folder.mkdir(exist_ok=True)
        for name in ("cert.pem", "key.pem"):
            (folder / name).write_bytes((self.folder / name).read_bytes())
        text = (HERE / "nginx.conf").read_text()
        for shown, real in zip(("4140", "4141", "4142"), (port, *hubs)):
            text = text.replace(f"127.0.0.1:{shown}", f"127.0.0.1:{real}")
        (folder / "nginx.conf").write_text(text)
        command = [NGINX, "-p", f"{folder}/", "-e", "stderr", "-c", "nginx.conf"]
        user = None
        if os.geteuid() == 0:
            # nginx needs no privileges, so it gets none.
            user = pwd.getpwnam("nobody").pw_uid
            self.folder.chmod(0o711)
            for path in (folder, *folder.iterdir()):
                os.chown(path, user, -1)
        process = Process(command + ["-g", "daemon off;"], folder, "nginx.log", user)
        self.addCleanup(process.stop)
        process.wait_until(lambda: self.is_ready(port))
        return port, process

    def test_sessions_stay_on_their_hub_behind_nginx(self):
        ports = [free_port(), free_port()]
        hubs = [self.hub(port) for port in ports]
        front, _ = self.nginx(ports)
        took = self.run_clients(front, bad=[42])
        self.assertEqual([hub.stop() for hub in hubs], [0, 0])
        receipts = [self.receipt(port) for port in ports]
        opened = [receipt["sessions"]["opened"] for receipt in receipts]
        print(f"two hubs behind nginx: {SESSIONS} sessions in {took:.2f} s, {opened} on each")
        self.assertEqual(sum(opened), SESSIONS)
        self.assertGreater(min(opened), SESSIONS // 10)
        bad = [receipt["sessions"]["missed"] for receipt in receipts]
        self.assertEqual(sum(bad), 1)
        for receipt, count, missed in zip(receipts, opened, bad):
            self.check_run(receipt, count, missed)

    def test_stream_keeps_its_timing_behind_nginx(self):
        ports = [free_port(), free_port()]
        hubs = [self.hub(port, "--latency", "replay") for port in ports]
        front, _ = self.nginx(ports)
        client = self.connect(front)
        client.control(TOKEN, "/@slow/__loomrec/session", {}, 201)
        began = time.monotonic()
        headers = {"x-loomrec-step-id": "stream"}
        body = json.dumps({"model": "m", "messages": [], "stream": True})
        client.connection.request("POST", "/@slow/openai/v1/chat/completions", body, headers)
        answer = client.connection.getresponse()
        first, at_first = answer.readline(), time.monotonic() - began
        rest, at_last = answer.read(), time.monotonic() - began
        self.assertEqual((first, rest), (b"data: first\n", b"\ndata: last\n\n"))
        self.assertLess(at_first, 0.5)
        self.assertGreater(at_last, 0.65)
        client.control(TOKEN, "/@slow/__loomrec/session/end", {}, 200)
        self.assertEqual([hub.stop() for hub in hubs], [0, 0])

    def test_call_to_a_hub_that_is_gone_fails_and_is_not_sent_to_the_other(self):
        ports = [free_port(), free_port()]
        hubs = [self.hub(port) for port in ports]
        front, _ = self.nginx(ports)
        client = self.connect(front)
        prefixes = [f"p{number}" for number in range(20)]
        for prefix in prefixes:
            client.control(TOKEN, f"/@{prefix}/__loomrec/session", {}, 201)
            self.assertEqual(client.call(prefix, "s0000001")[0], 200)
        self.assertEqual(hubs[0].stop(), 0)
        seen = [client.call(prefix, "s0000002")[0] for prefix in prefixes]
        lost = len(self.receipt(ports[0])["sessions"]["left_open"])
        self.assertEqual(sorted(seen), sorted([502] * lost + [200] * (20 - lost)))
        self.assertEqual(hubs[1].stop(), 0)


if __name__ == "__main__":
    unittest.main()
