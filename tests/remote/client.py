"""The program that recorders run: makes calls with distinct prompts, and writes each acknowledged
call, one whose answer it has received completely, as a JSON line to a file.

Exits with 0 if every call got a complete answer with status 200, and with 1 otherwise.
"""

from __future__ import annotations

import argparse
import hashlib
import http.client
import json
import os
import sys
import time
from urllib.parse import urlsplit


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--label", default="call", help="the beginning of each prompt")
    parser.add_argument("--first", type=int, default=0, help="the number of the first prompt")
    parser.add_argument("--calls", type=int, default=1)
    parser.add_argument("--acks", help="the file for acknowledged calls")
    parser.add_argument("--marker", help="a file to create at the start")
    parser.add_argument("--stream", action="store_true")
    parser.add_argument("--steps", action="store_true", help="send a step id with each call")
    parser.add_argument("--session", help="the session of all calls")
    parser.add_argument("--bear-failures", action="store_true", help="go on, and exit with 0, if calls fail")
    parser.add_argument("--pause-after", type=int, action="append", default=[], metavar="N",
                        help="after N calls print `paused`, and wait for a line on stdin")
    parser.add_argument("--pace", type=float, default=0, metavar="SECONDS", help="the time between two calls")
    return parser.parse_args()


def main() -> int:
    options = parse_arguments()
    if options.marker:
        open(options.marker, "w", encoding="utf-8").close()
    base = urlsplit(os.environ["OPENAI_BASE_URL"])
    connection = http.client.HTTPConnection(base.hostname, base.port, timeout=60)
    acks = open(options.acks or os.devnull, "a", encoding="utf-8")
    good = True
    for done in range(options.calls):
        if done in options.pause_after:
            print("paused", flush=True)
            if not sys.stdin.readline():
                return 1
        number = options.first + done
        time.sleep(options.pace)
        try:
            good &= call(connection, base.path, f"{options.label} {number}", number, options, acks)
        except (OSError, http.client.HTTPException) as error:
            print(f"call {number}: {error!r}", file=sys.stderr)
            return 1
    if options.calls in options.pause_after:
        print("paused", flush=True)
        sys.stdin.readline()
    return 0 if good else 1


def call(connection, path, prompt, number, options, acks) -> bool:
    body = {"model": "gpt-4o-mini", "messages": [{"role": "user", "content": prompt}]}
    if options.stream:
        body["stream"] = True
    key = os.environ.get("OPENAI_API_KEY", "none")
    headers = {"content-type": "application/json", "authorization": f"Bearer {key}"}
    if options.steps:
        headers["x-loomrec-step-id"] = f"step-{number % 3}"
    if options.session:
        headers["x-loomrec-session"] = options.session
    connection.request("POST", f"{path}/chat/completions", json.dumps(body), headers)
    response = connection.getresponse()
    answer = response.read()
    if response.status != 200:
        if options.bear_failures:
            return True
        print(f"call {number}: status {response.status}: {answer[:300]!r}", file=sys.stderr)
        return False
    text = read_stream(answer) if options.stream else json.loads(answer)["choices"][0]["message"]["content"]
    line = {"prompt": prompt, "answer": text, "sha256": hashlib.sha256(answer).hexdigest()}
    acks.write(json.dumps(line) + "\n")
    acks.flush()  # what the system has outlives every process; only a power cut could lose it
    return True


def read_stream(answer: bytes) -> str:
    events = [line[len("data: "):] for line in answer.decode().splitlines() if line.startswith("data: {")]
    return "".join(json.loads(event)["choices"][0]["delta"].get("content", "") for event in events)


if __name__ == "__main__":
    sys.exit(main())
