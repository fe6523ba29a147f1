"""The Debian package: installed into a scratch root, run, removed; lintian's opinion."""

from __future__ import annotations

import gzip
import subprocess
from pathlib import Path

import pytest

from conftest import bare_environment, one_package
from launcher import check_launcher
from package_formats.project import version

DEB = "loomrec_*.deb"


@pytest.fixture
def root(tmp_path, skip_without) -> Path:
    """A root folder with an empty dpkg database of its own, and the package installed."""
    skip_without("dpkg")
    folder = tmp_path / "root"
    for name in ("info", "updates", "triggers"):
        (folder / "var/lib/dpkg" / name).mkdir(parents=True)
    (folder / "var/lib/dpkg/status").touch()
    _dpkg(folder, "--force-depends", "--install", one_package(DEB))
    return folder


def test_installed_command_runs_and_passes_on_codes_and_signals(root, tmp_path):
    check_launcher([str(root / "usr/bin/loomrec")], bare_environment(tmp_path), tmp_path)


def test_manual_and_completions_are_installed(root):
    pages = root / "usr/share/man/man1"
    assert b".TH loomrec-replay 1" in gzip.decompress((pages / "loomrec-replay.1.gz").read_bytes())
    for file in ("bash-completion/completions/loomrec", "zsh/vendor-completions/_loomrec"):
        assert "loomrec" in (root / "usr/share" / file).read_text()
    fish = root / "usr/share/fish/vendor_completions.d/loomrec.fish"
    assert "complete -c loomrec" in fish.read_text()


def test_removal_leaves_nothing(root):
    _dpkg(root, "--purge", "loomrec")
    assert not (root / "usr/bin/loomrec").exists()
    assert [path for path in (root / "usr").rglob("*") if path.is_file()] == []


def test_dependencies_are_those_of_the_binary(skip_without):
    skip_without("dpkg-deb")
    assert _field("Version") == version()
    assert _field("Depends").startswith("libc6 (>= 2.")


def test_lintian_finds_no_error(skip_without):
    skip_without("lintian")
    words = ["lintian", "--allow-root", "--fail-on", "error,warning", one_package(DEB)]
    done = subprocess.run(words, capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stdout


def _field(name: str) -> str:
    words = ["dpkg-deb", "--field", one_package(DEB), name]
    return subprocess.check_output(words, encoding="utf-8").strip()


def _dpkg(root: Path, *arguments: str | Path) -> None:
    words = ["dpkg", f"--root={root}", "--force-not-root", "--force-script-chrootless", "--log=/dev/null", *arguments]
    done = subprocess.run(words, capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
