"""`python -m loomrec …`: runs the loomrec binary with these arguments."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

from loomrec.server import LoomrecError, find_binary


def main() -> int:
    """Runs the binary, and returns its exit code. On POSIX it replaces this process."""
    try:
        binary = find_binary()
    except LoomrecError as error:
        print(f"loomrec: {error}", file=sys.stderr)
        return 2
    words = [binary, *sys.argv[1:]]
    if sys.platform != "win32":
        os.execv(binary, words)
    # Ctrl-C reaches the child as well, which then ends by itself.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return subprocess.call(words)


if __name__ == "__main__":
    sys.exit(main())
