"""A server of tools over stdio. Each start adds a line to the file `starts`, each end to `ends`."""

import json
import os
import signal
import sys
import time

with open("starts", "a", encoding="utf-8") as starts:
    starts.write(f"{os.getpid()} {' '.join(sorted(name for name in os.environ if 'LOOMREC' in name or 'BASE_URL' in name))}\n")


def say(text):
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def send(**message):
    say(json.dumps({"jsonrpc": "2.0", **message}))


def call(message):
    """Answers a call of a tool."""
    params, id = message["params"], message["id"]
    tool, given = params["name"], params.get("arguments")
    if tool == "progress":
        for done in range(1, 3):
            send(method="notifications/progress", params={"progressToken": params["_meta"]["progressToken"], "progress": done})
    elif tool == "asks":
        send(id="mine", method="sampling/createMessage", params={"maxTokens": given})
        given = json.loads(sys.stdin.readline()).get("result")
    elif tool == "late":
        send(method="notifications/message", params={"level": "info", "data": "late"})
        sys.stdin.readline()
        time.sleep(0.5)
    elif tool == "garbage":
        say("Server ready!")
        say("[1, 2]")
    elif tool == "dies":
        sys.exit(given)
    elif tool == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    elif tool == "half":
        send(method="notifications/message", params={"level": "info", "data": "half"})
        sys.exit(given)
    elif tool == "endless":
        while True:
            sys.stdout.write("x" * (1 << 20))
    elif tool == "silent":
        return
    elif tool == "stubborn":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    elif tool == "returns":
        send(method="notifications/message", params={"level": "info", "data": "returns"})
        return say('{"jsonrpc":"2.0",\r"id":%s,\r"result":{"content":[]}}' % json.dumps(id))
    elif tool == "cut":
        return say('{"jsonrpc":"2.0","id":%s,"result":"cut \\ud83d"}' % json.dumps(id))
    elif tool == "fails":
        return send(id=id, error={"code": -32602, "message": "no such tool"})
    send(id=id, result={"content": [{"type": "text", "text": json.dumps([tool, given])}]})
    if tool == "changes":
        send(method="notifications/tools/list_changed")
    if tool == "stubborn":
        time.sleep(600)


def answer(message):
    if "method" not in message or "id" not in message:
        return None
    return {"jsonrpc": "2.0", "id": message["id"], "result": {"method": message["method"]}}


for line in sys.stdin:
    message = json.loads(line)
    with open("received", "a", encoding="utf-8") as received:
        received.write(f"{message.get('method') if isinstance(message, dict) else 'batch'}\n")
    if isinstance(message, list):
        say(json.dumps([one for one in map(answer, message) if one]))
    elif message.get("method") == "tools/call":
        call(message)
    elif (reply := answer(message)) is not None:
        say(json.dumps(reply))
with open("ends", "a", encoding="utf-8") as ends:
    ends.write("stdin\n")
