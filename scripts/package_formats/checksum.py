"""Checksums of the packages, and the signature of the checksums."""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path

from .project import PackageError, run, version

SUMS = "SHA256SUMS"


def write_checksums(out: Path) -> list[Path]:
    """Writes SHA256SUMS over every file of the folder, in the form that `sha256sum -c` reads."""
    files = sorted(p for p in out.iterdir() if p.is_file() and not p.name.startswith(SUMS))
    if not files:
        raise PackageError(f"{out} holds no package")
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in files]
    (out / SUMS).write_text("".join(lines), encoding="utf-8")
    return [out / SUMS]


def sign_checksums(out: Path) -> list[Path]:
    """Signs SHA256SUMS by minisign, with the secret key that MINISIGN_KEY holds as text."""
    key = os.environ.get("MINISIGN_KEY")
    if not key:
        raise PackageError("MINISIGN_KEY is not set; it holds the text of a secret key without password")
    with tempfile.NamedTemporaryFile("w", suffix=".key", encoding="utf-8") as file:
        file.write(key.rstrip("\n") + "\n")
        file.flush()
        comment = f"loomrec {version()}"
        run(["minisign", "-S", "-W", "-s", file.name, "-t", comment, "-m", out / SUMS])
    return [out / f"{SUMS}.minisig"]
