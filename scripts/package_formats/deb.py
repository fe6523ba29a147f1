"""The Debian package, staged by hand and packed by `dpkg-deb`."""

from __future__ import annotations

import gzip
import hashlib
import os
import shutil
import tempfile
from email.utils import formatdate
from pathlib import Path

from .binary import COMPLETIONS, completions, linkage, write_manual
from .project import ROOT, PackageError, repository, run, time_stamp, version
from .target import Target

#: Where each shell looks for the completions of Debian's packages.
COMPLETION_FOLDERS = {
    "bash": "usr/share/bash-completion/completions",
    "zsh": "usr/share/zsh/vendor-completions",
    "fish": "usr/share/fish/vendor_completions.d",
}
#: The Debian package of each library that the binary may need. libm, libdl and the like are libc's.
LIBRARY_PACKAGES = {"libgcc_s.so.1": "libgcc-s1"}
LIBC_LIBRARIES = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1"}


def maintainer() -> str:
    """Returns the maintainer in the package: LOOMREC_MAINTAINER, or a placeholder."""
    return os.environ.get("LOOMREC_MAINTAINER", "The loomrec maintainers <maintainers@loomrec.invalid>")


def make_deb(binary: Path, target: Target, out: Path) -> list[Path]:
    """Writes `loomrec_VERSION_ARCH.deb`."""
    if target.deb is None:
        raise PackageError(f"there is no Debian package for {target.triple}")
    deb = out / f"loomrec_{version()}_{target.deb}.deb"
    with tempfile.TemporaryDirectory() as scratch:
        tree = Path(scratch) / "tree"
        _stage(binary, tree)
        _write_control(binary, tree, target.deb)
        for path in [tree, *tree.rglob("*")]:
            executable = path.is_dir() or path == tree / "usr/bin/loomrec"
            path.chmod(0o755 if executable else 0o644)
        # xz is what every Debian and Ubuntu in use can unpack.
        run(
            ["dpkg-deb", "--root-owner-group", "-Zxz", "--build", tree, deb],
            SOURCE_DATE_EPOCH=str(time_stamp()),
        )
    return [deb]


def _stage(binary: Path, tree: Path) -> None:
    program = tree / "usr/bin/loomrec"
    program.parent.mkdir(parents=True)
    shutil.copy(binary, program)
    for page in write_manual(binary, tree / "usr/share/man/man1"):
        _compress(page, page.read_bytes())
        page.unlink()
    for shell, name in COMPLETIONS.items():
        file = tree / COMPLETION_FOLDERS[shell] / name
        file.parent.mkdir(parents=True)
        file.write_text(completions(binary, shell), encoding="utf-8")
    documents = tree / "usr/share/doc/loomrec"
    documents.mkdir(parents=True)
    (documents / "copyright").write_text(_copyright(), encoding="utf-8")
    _compress(documents / "changelog", _changelog().encode())


def _compress(path: Path, content: bytes) -> None:
    path.with_name(path.name + ".gz").write_bytes(gzip.compress(content, 9, mtime=0))


def _copyright() -> str:
    """Returns the machine-readable form of Debian's policy, with both licences."""
    mit = (ROOT / "LICENSE-MIT").read_text(encoding="utf-8")
    owner = next(line for line in mit.splitlines() if line.startswith("Copyright"))
    text = mit.split(owner, 1)[1].strip()
    paragraphs = "\n".join(f" {line}" if line else " ." for line in text.splitlines())
    return (
        "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\n"
        "Upstream-Name: loomrec\n\n"
        f"Files: *\nCopyright: {owner.removeprefix('Copyright').removeprefix(' (c)').strip()}\n"
        "License: MIT or Apache-2.0\n\n"
        f"License: MIT\n{paragraphs}\n\n"
        "License: Apache-2.0\n"
        " On Debian systems, the text of the Apache License, version 2.0, is in\n"
        " /usr/share/common-licenses/Apache-2.0.\n"
    )


def _changelog() -> str:
    """Returns the changelog in Debian's form; what changed is in the project's own."""
    date = formatdate(time_stamp(), localtime=False).replace("-0000", "+0000")
    return (
        f"loomrec ({version()}) unstable; urgency=medium\n\n"
        f"  * Version {version()}; docs/CHANGELOG.md of the source says what is new.\n\n"
        f" -- {maintainer()}  {date}\n"
    )


def _dependencies(binary: Path) -> list[str]:
    linked = linkage(binary)
    needed = []
    for library in sorted(linked.libraries):
        if library in LIBC_LIBRARIES or library.startswith("ld-linux"):
            continue
        if library not in LIBRARY_PACKAGES:
            raise PackageError(f"the binary needs {library}, whose Debian package is not known")
        needed.append(LIBRARY_PACKAGES[library])
    if linked.glibc:
        needed.insert(0, "libc6 (>= {}.{})".format(*linked.glibc))
    return needed


def _write_control(binary: Path, tree: Path, architecture: str) -> None:
    files = sorted(path for path in tree.rglob("*") if path.is_file())
    fields = {
        "Package": "loomrec",
        "Version": version(),
        "Architecture": architecture,
        "Maintainer": maintainer(),
        "Installed-Size": str(sum(-(-path.stat().st_size // 1024) for path in files)),
        "Depends": ", ".join(_dependencies(binary)),
        "Recommends": "ca-certificates",
        "Section": "devel",
        "Priority": "optional",
        "Homepage": repository() or "",
        "Description": (
            "record calls to LLM APIs, and replay them strictly\n"
            " loomrec records every call that a program makes to the APIs of large language\n"
            " models, with the timing of streamed answers. It then answers the same calls in\n"
            " tests: without a key, without a network, byte for byte. A call that was not\n"
            " recorded is refused, and the error says what has changed."
        ),
    }
    control = "".join(f"{name}: {value}\n" for name, value in fields.items() if value)
    sums = "".join(
        f"{hashlib.md5(path.read_bytes()).hexdigest()}  {path.relative_to(tree)}\n" for path in files
    )
    (tree / "DEBIAN").mkdir()
    (tree / "DEBIAN/control").write_text(control, encoding="utf-8")
    (tree / "DEBIAN/md5sums").write_text(sums, encoding="utf-8")
