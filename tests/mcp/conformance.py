"""Runs MCP's public conformance suite three times: against a server, against it through `loomrec
record`, and against `loomrec replay --strict` without the server. Each scenario must say the same.
All of it is done over HTTP, and over stdio behind a gateway.

usage: conformance.py FOLDER LOOMREC ERA...
FOLDER has an install of the suite for each era, which is a revision of the protocol.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
sys.path.append(str(HERE.parent / "sdk"))
import loop as ways  # noqa: E402

NODE = ways.node(24)  # the newer suite needs 22 or later
SUITE = "node_modules/@modelcontextprotocol/conformance/dist/index.js"
#: How each era's scenarios are chosen.
CHOICES = {"2025-11-25": ["--suite", "active"], "2026-07-28": ["--requirements", "2026-07-28"]}
#: Adds a line to the file $0, and becomes the server.
COUNTED = 'echo started >> "$0"; exec "$@"'


@contextlib.contextmanager
def server():
    """The address of the server over HTTP."""
    child = subprocess.Popen([sys.executable, str(HERE / "everything.py")], stdin=subprocess.PIPE,
                             stdout=subprocess.PIPE, encoding="utf-8")
    try:
        yield f"http://127.0.0.1:{child.stdout.readline().strip()}"
    finally:
        child.stdin.close()
        child.wait(20)


def run(line: list[str], url: str, folder: Path, era: str, work: Path, mode: str) -> None:
    """Runs the suite, behind the command that begins the line. It fails if a scenario fails."""
    out = work / mode
    script = f'exec "$NODE" "{folder / era / SUITE}" server --url "{url}" -o "{out}" {" ".join(CHOICES[era])}'
    environment = {name: os.environ[name] for name in ("PATH", "HOME", "PYTHONPATH") if name in os.environ}
    environment["NODE"] = str(NODE)
    done = subprocess.run([*line, "sh", "-c", script], env=environment, cwd=out.parent, capture_output=True,
                          encoding="utf-8", timeout=600, check=False)
    out.with_suffix(".log").write_text(done.stdout + done.stderr, encoding="utf-8")


def checks(out: Path) -> dict[str, list[tuple[str, str]]]:
    """The checks of each scenario, and how they ended."""
    found = {}
    for file in sorted(out.glob("*/checks.json")):
        name = re.sub(r"-\d{4}-\d\d-\d\dT.*", "", file.parent.name.removeprefix("server-"))
        held = json.loads(file.read_text(encoding="utf-8"))
        found[name] = sorted((check["id"], check["status"]) for check in held)
    return found


def run_over_http(loomrec: str, modes: dict[str, list[str]], *rest) -> None:
    """Runs the suite directly and in each mode of loomrec, whose flags are given."""
    with server() as address:
        run([], f"{address}/mcp", *rest, "direct")
        flags = [*modes["record"], "--upstream", f"tools={address}"]
        run([loomrec, "record", *flags, "--"], "$LOOMREC_URL/tools/mcp", *rest, "recorded")
    run([loomrec, "replay", *modes["replay"], "--"], "$LOOMREC_URL/tools/mcp", *rest, "replayed")


def run_over_stdio(loomrec: str, modes: dict[str, list[str]], folder: Path, era: str, work: Path) -> None:
    """The same over stdio. No replay starts the server."""
    starts = work / "starts"
    server = ["sh", "-c", COUNTED, str(starts), sys.executable, str(HERE / "everything.py"), "--stdio"]

    def gateway(*bridge: str) -> list[str]:
        return [sys.executable, str(HERE / "gateway.py"), json.dumps([*bridge, *server])]

    bridge = [loomrec, "mcp", "--name", "tools", "--"]
    run(gateway(), "{url}", folder, era, work, "direct")
    run([loomrec, "record", *modes["record"], "--", *gateway(*bridge)], "{url}", folder, era, work, "recorded")
    started = starts.read_text(encoding="utf-8")
    run([loomrec, "replay", *modes["replay"], "--", *gateway(*bridge)], "{url}", folder, era, work, "replayed")
    assert starts.read_text(encoding="utf-8") == started, "the replay started the server"


TRANSPORTS = {"HTTP": run_over_http, "stdio": run_over_stdio}


def compare(folder: Path, loomrec: str, era: str, transport: str, work: Path) -> bool:
    """Returns whether the scenarios of an era said the same three times."""
    title = f"{era} over {transport}"
    receipts = {mode: work / f"{mode}.json" for mode in ("record", "replay")}
    flags = {"record": ["--keep-failures"], "replay": ["--strict"]}
    modes = {mode: ["-r", str(work / "recording.json"), "--receipt", str(receipts[mode]), *given]
             for mode, given in flags.items()}
    TRANSPORTS[transport](loomrec, modes, folder, era, work)
    seen = {mode: checks(work / mode) for mode in ("direct", "recorded", "replayed")}
    different = 0
    for name in seen["direct"]:
        ends = [seen[mode].get(name) for mode in seen]
        passed = sum(status == "SUCCESS" for _, status in ends[0])
        is_equal = ends[0] == ends[1] == ends[2]
        different += not is_equal
        print(f"{title} {name}: " + (f"equal, {passed} of {len(ends[0])} checks passed" if is_equal
                                     else " | ".join(map(str, ends))))
    replayed = {}
    for mode, file in receipts.items():
        replayed = json.loads(file.read_text(encoding="utf-8"))
        words = ", ".join(f"{replayed[field]} {field}" for field in ("recorded", "served", "missed", "unused"))
        print(f"{title} {mode}: {words}")
    print(f"{title}: {len(seen['direct']) - different} passed, {different} failed")
    is_whole = replayed["missed"] == replayed["unused"] == replayed["upstream_connections"] == 0
    return bool(seen["direct"]) and not different and is_whole


def main(folder: str, loomrec: str, *eras: str) -> int:
    is_good = True
    for era, transport in itertools.product(eras, TRANSPORTS):
        work = Path(tempfile.mkdtemp(prefix=f"conformance-{era}-"))
        is_good &= compare(Path(folder).resolve(), loomrec, era, transport, work)
        if os.environ.get("KEEP"):
            print(f"kept in {work}")
        else:
            shutil.rmtree(work)
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
