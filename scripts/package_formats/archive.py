"""The archive for downloads: the binary, its manual and completions. cargo-binstall installs it."""

from __future__ import annotations

import gzip
import io
import shutil
import tarfile
import tempfile
from pathlib import Path

from .binary import COMPLETIONS, completions, write_manual
from .project import LICENCES, ROOT, time_stamp
from .sbom import sbom
from .target import Target


def make_archive(binary: Path, target: Target, out: Path) -> list[Path]:
    """Writes `loomrec-TARGET.tar.gz`, and the list of what is in the binary beside it."""
    name = f"loomrec-{target.triple}"
    contents = out / f"{name}.cdx.json"
    contents.write_text(sbom(target.triple), encoding="utf-8")
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / name
        _stage(binary, folder)
        shutil.copy(contents, folder / "loomrec.cdx.json")
        archive = out / f"{name}.tar.gz"
        archive.write_bytes(packed_folder(folder, time_stamp()))
    return [archive, contents]


def _stage(binary: Path, folder: Path) -> None:
    folder.mkdir()
    shutil.copy(binary, folder / "loomrec")
    (folder / "loomrec").chmod(0o755)
    for document in (ROOT / "README.md", *LICENCES):
        shutil.copy(document, folder)
    write_manual(binary, folder / "man" / "man1")
    (folder / "completions").mkdir()
    for shell, name in COMPLETIONS.items():
        (folder / "completions" / name).write_text(completions(binary, shell), encoding="utf-8")


def packed_folder(folder: Path, stamp: int) -> bytes:
    """Returns a .tar.gz of the folder; the same files give the same bytes."""
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w", format=tarfile.PAX_FORMAT) as tar:
        for path in [folder, *sorted(folder.rglob("*"))]:
            member = tar.gettarinfo(path, path.relative_to(folder.parent).as_posix())
            member.uid = member.gid = 0
            member.uname = member.gname = ""
            member.mtime = stamp
            member.mode = 0o755 if path.is_dir() or path.stat().st_mode & 0o100 else 0o644
            if path.is_file():
                with path.open("rb") as content:
                    tar.addfile(member, content)
            else:
                tar.addfile(member)
    return gzip.compress(plain.getvalue(), 9, mtime=stamp)
