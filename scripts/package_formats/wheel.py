"""The Python wheel, built by maturin: the binary among the scripts, and the Python package."""

from __future__ import annotations

import os
import sys
import zipfile
from pathlib import Path

from .project import CACHE, PYTHON, PackageError, run
from .target import Target, host_triple

#: zig is a C compiler and linker that can build for an old glibc; maturin finds it in its own venv.
TOOLS = ("maturin==1.16.0", "ziglang==0.17.1")


def make_wheel(target: Target, out: Path, *, profile: str, native: bool) -> list[Path]:
    """Builds the wheel. With `native`, for this machine's glibc, by the system's linker."""
    tools = install_tools()
    words: list[str | Path] = [tools / "maturin", "build", "--profile", profile, "--out", out.resolve()]
    if native:
        words += ["--compatibility", "linux" if target.is_linux else "off"]
    else:
        words += ["--target", target.triple]
        if target.is_linux:
            words += ["--zig", "--compatibility", str(target.compatibility)]
    if native and target.triple != host_triple():
        raise PackageError(f"--native builds for this machine, {host_triple()}, only")
    before = set(out.glob("loomrec-*.whl"))
    for wheel in before:
        wheel.unlink()
    run(words, cwd=PYTHON, PATH=f"{tools}{os.pathsep}{os.environ['PATH']}")
    return sorted(out.glob("loomrec-*.whl"))


def install_tools() -> Path:
    """Installs maturin and zig into .cache/package/tools, and returns the folder of the programs."""
    home = CACHE / "tools"
    stamp = home / ".stamp"
    wanted = "\n".join((*TOOLS, sys.version, str(home)))
    programs = home / ("Scripts" if sys.platform == "win32" else "bin")
    if not (stamp.is_file() and stamp.read_text(encoding="utf-8") == wanted):
        run([sys.executable, "-m", "venv", "--clear", home])
        run([programs / "python", "-m", "pip", "install", "--quiet", *TOOLS])
        stamp.write_text(wanted, encoding="utf-8")
    return programs


def extract_binary(wheel: Path, folder: Path) -> Path:
    """Writes the binary of a wheel into the folder, and returns its path."""
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if name.endswith(".data/scripts/loomrec"):
                binary = folder / "loomrec"
                binary.write_bytes(archive.read(name))
                binary.chmod(0o755)
                return binary
    raise PackageError(f"{wheel} holds no loomrec binary")
