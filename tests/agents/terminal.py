"""Runs a program in a terminal of tmux, and types."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

HAS_TMUX = shutil.which("tmux") is not None


def run(command: list[str], cwd: Path, environment: dict, steps: list[tuple[str, str]],
        longest: float) -> tuple[int, str]:
    """Returns the exit code and the last pages of the terminal.

    Each step is a text and keys: when the text is on a page that stands still, the keys are typed,
    once. One or two capitalized words, such as `Up Enter`, are names of keys; anything else is a
    text, which is followed by Enter.
    """
    folder = Path(tempfile.mkdtemp(prefix="loomrec-terminal-"))
    code_file, socket = folder / "code", str(folder / "tmux")
    script = folder / "run.sh"
    variables = " ".join(shlex.quote(f"{name}={value}") for name, value in
                         {**environment, "TERM": "screen-256color"}.items())
    script.write_text(f"cd {shlex.quote(str(cwd))}\nenv -i {variables} {shlex.join(command)}\n"
                      f"echo $? > {code_file}.new && mv {code_file}.new {code_file}\nsleep 1\n")
    tmux = ["tmux", "-S", socket, "-f", "/dev/null"]
    subprocess.run([*tmux, "new-session", "-d", "-x", "140", "-y", "50", f"bash {script}"], check=True)
    pages, waiting, end, since = [""], list(steps), time.monotonic() + longest, 0
    while not code_file.exists() and time.monotonic() < end:
        page = capture(tmux)
        since = since + 1 if page == pages[-1] else 0
        if page and not since:
            pages.append(page)
        step = next((step for step in waiting if step[0] in page), None)
        # A program may not read keys before its page has stood still for a while.
        if step and since > 3:
            waiting.remove(step)
            type_keys(tmux, step[1])
        # tmux has no event for a changed page.
        time.sleep(0.3)
    code = int(code_file.read_text()) if code_file.exists() else 124
    subprocess.run([*tmux, "kill-server"], capture_output=True)
    shutil.rmtree(folder, ignore_errors=True)
    return code, "\n----- page\n".join(pages[-6:])


def capture(tmux: list[str]) -> str:
    done = subprocess.run([*tmux, "capture-pane", "-p"], capture_output=True, text=True)
    return "\n".join(line.rstrip() for line in done.stdout.splitlines()).strip()


def type_keys(tmux: list[str], keys: str) -> None:
    if all(word[0].isupper() and word.isalpha() for word in keys.split()) and len(keys.split()) < 3:
        for key in keys.split():
            subprocess.run([*tmux, "send-keys", key], check=True)
            time.sleep(0.3)
        return
    subprocess.run([*tmux, "send-keys", "-l", keys], check=True)
    # Programs take a text and Enter that come at once for something pasted.
    time.sleep(0.7)
    subprocess.run([*tmux, "send-keys", "Enter"], check=True)
