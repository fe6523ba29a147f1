"""Servers without a command over a store: what SIGHUP reads again, and what their metrics say."""

from __future__ import annotations

import json
import re
import signal
import time
import urllib.request

from machine import calls
from process import PATIENCE

BODY = {"model": "gpt-4o-mini", "messages": [{"role": "user", "content": "call 0"}]}


class Server:
    """A loomrec that listens until it is stopped."""

    def __init__(self, machine, *arguments):
        self.running = machine.start(*arguments, "--listen", "127.0.0.1:0")
        self.url = self.running.wait_for_line(r"listening on (\S+)")[1]

    def post(self, path, body):
        request = urllib.request.Request(self.url + path, json.dumps(body).encode(),
                                         {"content-type": "application/json"})
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return json.loads(answer.read())

    def metric(self, name):
        with urllib.request.urlopen(f"{self.url}/metrics", timeout=PATIENCE) as answer:
            found = re.search(rf"^{re.escape(name)} (\d+)$", answer.read().decode(), re.MULTILINE)
        return int(found[1])

    def wait_for_metric(self, name, is_reached):
        until = time.monotonic() + PATIENCE
        while not is_reached(value := self.metric(name)):
            assert time.monotonic() < until, f"{name} is {value}"
            time.sleep(0.1)

    def stop(self):
        self.running.process.send_signal(signal.SIGINT)
        return self.running.wait()


def in_session(hub, prefix):
    """Begins a session, and returns the answer to its call."""
    hub.post("/__loomrec/session", {"prefix": prefix})
    answer = hub.post(f"/@{prefix}/openai/v1/chat/completions", BODY)
    hub.post("/__loomrec/session/end", {"prefix": prefix})
    return answer["choices"][0]["message"]["content"]


def test_hub_reads_the_newest_state_at_sighup(machine, make_machine, bucket, upstream, proxy):
    other = make_machine()
    assert other.record(bucket.url(), client=calls(count=1)).code == 0
    hub = Server(machine, "replay", "--strict", "--sessions-by-control", "-r", bucket.url())
    assert hub.metric('loomrec_remote_loads_total{from="store"}') == 1
    first = in_session(hub, "a")
    upstream.edition = 2
    assert other.record(bucket.url(), client=calls(count=1)).code == 0
    assert in_session(hub, "b") == first
    hub.running.process.send_signal(signal.SIGHUP)
    hub.running.wait_for_line("read again: 1 take")
    assert in_session(hub, "c") != first
    assert hub.metric('loomrec_remote_loads_total{from="store"}') == 2
    # Nothing is new: all of it comes from the cache.
    hub.running.process.send_signal(signal.SIGHUP)
    hub.running.wait_for_line("read again: 1 take")
    assert hub.metric('loomrec_remote_loads_total{from="cache"}') == 1
    proxy.stop()
    hub.running.process.send_signal(signal.SIGHUP)
    hub.running.wait_for_line("nothing was read again, and everything stays as it was")
    assert in_session(hub, "d") != first
    outcomes = [hub.metric(f'loomrec_reloads_total{{outcome="{outcome}"}}') for outcome in ("ok", "failed")]
    assert outcomes == [2, 1]
    assert hub.stop().code == 0


def test_metrics_of_a_recorder_say_what_is_not_in_the_store(machine, bucket, upstream, proxy):
    recorder = Server(machine, "record", "-r", bucket.url(), "--upstream", f"openai={upstream.url}")
    recorder.post("/openai/v1/chat/completions", BODY)
    sent, failed = (f'loomrec_remote_uploads_total{{outcome="{outcome}"}}' for outcome in ("ok", "failed"))
    left = "loomrec_remote_segments_left"
    recorder.wait_for_metric(sent, lambda value: value == 1)
    assert (recorder.metric(left), recorder.metric(failed)) == (0, 0)
    proxy.stop()
    recorder.post("/openai/v1/chat/completions", BODY)
    recorder.wait_for_metric(failed, lambda value: value >= 1)
    assert recorder.metric(left) == 1
    proxy.start()
    recorder.wait_for_metric(left, lambda value: value == 0)
    assert recorder.metric(sent) == 2
    outcome = recorder.stop()
    assert outcome.code == 0, outcome.stderr
