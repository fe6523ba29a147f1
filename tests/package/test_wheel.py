"""The wheel, installed without a network into an environment that has only Python."""

from __future__ import annotations

import site
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from conftest import bare_environment, one_package
from launcher import check_launcher


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Path:
    """A new virtual environment with the wheel."""
    home = tmp_path_factory.mktemp("wheel") / "venv"
    venv.create(home)
    # This run's pip installs into it: a pip of its own would take longer than all the tests.
    pip = [sys.executable, "-m", "pip", "--python", home / "bin/python", "install", "--quiet", "--no-index"]
    done = subprocess.run([*pip, one_package("loomrec-*.whl")], capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    return home


def test_command_runs_and_passes_on_codes_and_signals(installed, tmp_path):
    environment = bare_environment(tmp_path)
    check_launcher([str(installed / "bin/loomrec")], environment, tmp_path)


def test_module_runs_and_passes_on_codes_and_signals(installed, tmp_path):
    environment = bare_environment(tmp_path)
    check_launcher([str(installed / "bin/python"), "-m", "loomrec"], environment, tmp_path)


def test_python_package_finds_the_binary_of_its_wheel(installed, tmp_path):
    program = "from loomrec.server import find_binary; print(find_binary())"
    done = _python(installed, tmp_path, "-c", program)
    assert done.stdout.strip() == str(installed / "bin/loomrec"), done.stderr


def test_pytest_sees_the_plugin_which_is_inert_without_its_mark(installed, tmp_path):
    (tmp_path / "test_plain.py").write_text(
        "import os\ndef test_plain():\n    assert not [n for n in os.environ if n.startswith('LOOMREC')]\n"
    )
    # pytest is that of this run: an environment without a network has no other.
    arguments = ("-m", "pytest", "-p", "no:cacheprovider", "-p", "no:xdist", "--trace-config", ".")
    done = _python(installed, tmp_path, *arguments, PYTHONPATH=site.getsitepackages()[0])
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout
    assert f"'loomrec.pytest_plugin' from '{installed}" in done.stdout, done.stdout
    help_text = _python(installed, tmp_path, "-m", "pytest", "--help", PYTHONPATH=site.getsitepackages()[0])
    assert "--loomrec" in help_text.stdout


def test_wheel_holds_licences_and_types(installed):
    packages = installed / f"lib/python{sys.version_info.major}.{sys.version_info.minor}/site-packages"
    assert (packages / "loomrec/py.typed").is_file()
    licences = next(packages.glob("loomrec-*.dist-info")) / "licenses"
    assert {path.name for path in licences.iterdir()} == {"LICENSE-MIT", "LICENSE-APACHE"}


def _python(installed: Path, folder: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess:
    environment = {**bare_environment_once(folder), **variables}
    words = [str(installed / "bin/python"), *arguments]
    return subprocess.run(words, cwd=folder, env=environment, capture_output=True, encoding="utf-8")


def bare_environment_once(folder: Path) -> dict[str, str]:
    """`bare_environment`, in a folder of its own, for tests that start several programs."""
    home = folder / f"home-{len(list(folder.glob('home-*')))}"
    home.mkdir()
    return bare_environment(home)
