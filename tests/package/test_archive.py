"""The archive for downloads, its list of crates, the checksums and their signature."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from conftest import PACKAGES, ROOT, bare_environment, one_package
from launcher import check_launcher
from package_formats.archive import packed_folder
from package_formats.project import manifest, version
from package_formats.target import host_triple

NAME = f"loomrec-{host_triple()}"


@pytest.fixture
def unpacked(tmp_path) -> Path:
    with tarfile.open(one_package(f"{NAME}.tar.gz")) as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path / NAME


def test_binary_runs_and_passes_on_codes_and_signals(unpacked, tmp_path):
    check_launcher([str(unpacked / "loomrec")], bare_environment(tmp_path), tmp_path)


def test_archive_lies_where_cargo_binstall_looks():
    wanted = manifest()["package"]["metadata"]["binstall"]
    values = {"name": "loomrec", "version": version(), "target": host_triple(), "bin": "loomrec", "binary-ext": ""}
    values["repo"] = "REPO"

    def expanded(template: str) -> str:
        return re.sub(r"\{ ([a-z-]+) \}", lambda found: values[found[1]], template)

    assert expanded(wanted["pkg-url"]) == f"REPO/releases/download/v{version()}/{NAME}.tar.gz"
    with tarfile.open(one_package(f"{NAME}.tar.gz")) as archive:
        assert expanded(wanted["bin-dir"]) in archive.getnames()


def test_archive_holds_licences_manual_and_completions(unpacked):
    names = {path.relative_to(unpacked).as_posix() for path in unpacked.rglob("*") if path.is_file()}
    assert {"LICENSE-MIT", "LICENSE-APACHE", "README.md", "man/man1/loomrec-record.1", "loomrec.cdx.json"} <= names
    assert {"completions/loomrec", "completions/_loomrec", "completions/loomrec.fish"} <= names


def test_same_files_give_the_same_archive(unpacked, tmp_path):
    (unpacked / "loomrec").write_bytes(b"a small file takes less time")
    first = packed_folder(unpacked, 1_700_000_000)
    (unpacked / "README.md").touch()
    copy = Path(shutil.copytree(unpacked, tmp_path / "copy" / NAME))
    assert packed_folder(copy, 1_700_000_000) == first
    assert packed_folder(copy, 1_700_000_001) != first


def test_list_of_crates_is_that_of_the_wheel():
    ours = json.loads(one_package(f"{NAME}.cdx.json").read_text())
    package = one_package("loomrec-*.whl")
    with zipfile.ZipFile(package) as wheel:
        name = next(name for name in wheel.namelist() if name.endswith(".cyclonedx.json"))
        maturins = json.loads(wheel.read(name))
    crates = [{(c["name"], c["version"]) for c in document["components"]} for document in (ours, maturins)]
    assert crates[0] <= crates[1] and "ring" in {name for name, _ in crates[0]}
    # A wheel that was built without a named target lists the crates of all platforms.
    assert crates[0] == crates[1] or "-linux_" in package.name
    foreign = [c for c in ours["components"] if not c["name"].startswith("loomrec-")]
    assert all(c["hashes"] and c["licenses"] for c in foreign)


def test_checksums_find_a_changed_file(tmp_path):
    folder = shutil.copytree(PACKAGES, tmp_path / "copy")
    words = ["sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS"]
    assert subprocess.run(words, cwd=folder).returncode == 0
    listed = (folder / "SHA256SUMS").read_text()
    assert all(f"  {path.name}\n" in listed for path in folder.iterdir() if path.name != "SHA256SUMS")
    with one_package(f"{NAME}.cdx.json").open("rb") as file:
        (folder / f"{NAME}.cdx.json").write_bytes(file.read() + b" ")
    assert subprocess.run(words, cwd=folder, capture_output=True).returncode == 1
    refused = subprocess.run(
        [ROOT / "scripts/publish", "npm", "--packages", folder, "--dry-run"], capture_output=True, encoding="utf-8"
    )
    assert refused.returncode == 1 and "SHA256SUMS" in refused.stderr


def test_signature_is_of_the_checksums(tmp_path, skip_without):
    skip_without("minisign")
    shutil.copy(PACKAGES / "SHA256SUMS", tmp_path)
    key, public = tmp_path / "secret.key", tmp_path / "public.key"
    subprocess.run(["minisign", "-G", "-W", "-s", key, "-p", public], check=True, capture_output=True)
    sign = [sys.executable, ROOT / "scripts/package", "sign", "--out", tmp_path]
    assert subprocess.run(sign, capture_output=True).returncode == 1  # without a key
    environment = {**bare_environment(tmp_path, "minisign"), "MINISIGN_KEY": key.read_text()}
    subprocess.run(sign, env=environment, check=True, capture_output=True)
    verify = ["minisign", "-V", "-p", public, "-m", tmp_path / "SHA256SUMS"]
    assert subprocess.run(verify, capture_output=True).returncode == 0
    with (tmp_path / "SHA256SUMS").open("a") as sums:
        sums.write("0  more\n")
    assert subprocess.run(verify, capture_output=True).returncode != 0


def test_publishing_uploads_platforms_before_the_package_that_names_them():
    words = [ROOT / "scripts/publish", "npm", "--packages", PACKAGES, "--dry-run"]
    said = subprocess.run(words, capture_output=True, encoding="utf-8", check=True).stdout.splitlines()
    assert len(said) == 2 and f"loomrec-cli-{version()}.tgz" not in said[0] and f"loomrec-cli-{version()}.tgz" in said[1]
    assert all("npm publish" in line and "--provenance" in line for line in said)
