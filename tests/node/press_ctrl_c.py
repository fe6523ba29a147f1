"""Runs a command on a terminal of its own, presses Ctrl-C once it has written `ready`, and prints what it wrote.

The exit code is that of the command.
"""

from __future__ import annotations

import os
import pty
import sys


def main() -> int:
    child, terminal = pty.fork()
    if child == 0:
        os.execvp(sys.argv[1], sys.argv[1:])
    written, pressed = b"", False
    while True:
        try:
            piece = os.read(terminal, 4096)
        except OSError:  # Linux ends a terminal that nobody has open with an error
            break
        if not piece:
            break
        written += piece
        if b"ready" in written and not pressed:
            os.write(terminal, b"\x03")
            pressed = True
    sys.stdout.write(written.decode())
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


if __name__ == "__main__":
    sys.exit(main())
