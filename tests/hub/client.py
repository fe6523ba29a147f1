"""One client process: begins sessions, makes their calls, ends them, and judges their receipts.

Reads its orders as JSON from stdin, and prints what it saw as JSON.
"""

import http.client
import json
import ssl
import sys
import threading
import time


class Hub:
    """A connection to a hub, or to what stands in front of several."""

    def __init__(self, address, authority):
        context = ssl.create_default_context(cafile=authority)
        self.connection = http.client.HTTPSConnection(*address, context=context, timeout=30)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.connection.close()

    def send(self, method, path, body=None, headers=None):
        body = None if body is None else json.dumps(body)
        headers = {"content-type": "application/json"} | (headers or {})
        self.connection.request(method, path, body, headers)
        answer = self.connection.getresponse()
        return answer.status, answer.read().decode(), answer

    def control(self, token, path, body, status):
        got, text, _ = self.send("POST", path, body, {"x-loomrec-token": token})
        if got != status:
            raise AssertionError(f"{path}: {got} {text}")
        return json.loads(text)

    def call(self, prefix, step):
        return self.send("POST", f"/@{prefix}/openai/v1/x", {}, {"x-loomrec-step-id": step})


def run_session(hub, orders, number):
    """Runs one session, and returns what was wrong with it."""
    prefix, token = f"{orders['name']}-{number}", orders["token"]
    hub.control(token, f"/@{prefix}/__loomrec/session", {"name": f"test {number}"}, 201)
    is_bad = number in orders["bad"]
    for at in range(orders["calls"]):
        step = "unknown" if is_bad and at == 1 else f"s{at:07}"
        status, text, _ = hub.call(prefix, step)
        expected = (422, None) if step == "unknown" else (200, f"answer {at}")
        if status != expected[0] or (expected[1] is not None and text != expected[1]):
            raise AssertionError(f"{prefix} {step}: {status} {text}")
    receipt = hub.control(token, f"/@{prefix}/__loomrec/session/end", {}, 200)["receipt"]
    served = orders["calls"] - int(is_bad)
    seen = (receipt["verdict"], receipt["served"], receipt["missed"], receipt["unused"])
    wanted = ("failed" if is_bad else "ok", served, int(is_bad), orders["takes"] - served)
    if seen != wanted:
        raise AssertionError(f"{prefix}: {seen}, not {wanted}")


def main():
    orders = json.load(sys.stdin)
    numbers, errors, began = iter(orders["numbers"]), [], time.monotonic()
    lock = threading.Lock()

    def work():
        with Hub(orders["address"], orders["authority"]) as hub:
            while True:
                with lock:
                    number = next(numbers, None)
                if number is None:
                    return
                try:
                    run_session(hub, orders, number)
                except Exception as error:  # reported by the test that started this process
                    errors.append(f"{type(error).__name__}: {error}")
                    return

    threads = [threading.Thread(target=work) for _ in range(orders["threads"])]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(json.dumps({"errors": errors, "seconds": time.monotonic() - began}))


if __name__ == "__main__":
    main()
