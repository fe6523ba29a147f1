"""The npm packages, installed by path and without a network, where there is only Node."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tarfile
import time
from pathlib import Path

import pytest

from conftest import ROOT, bare_environment, one_package
from launcher import check_launcher
from npm_registry import NpmRegistry
from package_formats.project import version
from package_formats.target import TARGETS, host_triple

HOST = TARGETS[host_triple()]
#: Where tests/package/run has installed the package managers.
MANAGERS = ROOT / ".cache/package/node/node_modules"
YARN = MANAGERS / "@yarnpkg/cli-dist/bin/yarn.js"
YARN_CLASSIC = MANAGERS / "yarn/bin/yarn.js"


@pytest.fixture
def installed(tmp_path) -> tuple[Path, dict[str, str]]:
    """A project with both packages, and the variables for it."""
    environment = bare_environment(tmp_path, "node")
    npm = Path(subprocess.check_output(["npm", "root", "-g"], encoding="utf-8").strip()) / "npm/bin/npm-cli.js"
    project = tmp_path / "project"
    project.mkdir()
    (project / "package.json").write_text('{"name": "sample", "private": true}')
    packages = [str(one_package(f"loomrec-cli-{name}.tgz")) for name in (f"{HOST.npm}-[0-9]*", "[0-9]*")]
    words = ["node", str(npm), "install", "--offline", "--no-audit", "--no-fund", *packages]
    done = subprocess.run(words, cwd=project, env=environment, capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stderr
    return project, environment


def test_command_runs_and_passes_on_codes_and_signals(installed):
    project, environment = installed
    check_launcher([str(project / "node_modules/.bin/loomrec")], environment, project)


def test_launcher_dies_of_the_signal_that_killed_the_binary(installed):
    project, environment = installed
    words = [str(project / "node_modules/.bin/loomrec"), "record", "-r", "a.json", "--listen", "127.0.0.1:0"]
    process = subprocess.Popen(words, cwd=project, env=environment, stderr=subprocess.PIPE, encoding="utf-8")
    assert "listening" in process.stderr.readline()
    os.kill(_child(process.pid), signal.SIGKILL)
    assert process.wait(30) == -signal.SIGKILL
    process.stderr.close()


def test_package_without_its_platform_says_what_to_do(installed):
    project, environment = installed
    folder = project / "node_modules/@loomrec"
    (folder / f"cli-{HOST.npm}").rename(folder / "gone")
    words = [str(project / "node_modules/.bin/loomrec"), "--version"]
    done = subprocess.run(words, cwd=project, env=environment, capture_output=True, encoding="utf-8")
    assert done.returncode != 0
    assert f"@loomrec/cli-{HOST.npm}" in done.stderr and "LOOMREC_BIN" in done.stderr


def test_platform_without_a_build_is_named(installed):
    project, environment = installed
    other = project / "freebsd.js"
    other.write_text("Object.defineProperty(process, 'platform', { value: 'freebsd' });")
    words = [str(project / "node_modules/.bin/loomrec"), "--version"]
    environment = {**environment, "NODE_OPTIONS": f"--require {other}"}
    done = subprocess.run(words, cwd=project, env=environment, capture_output=True, encoding="utf-8")
    assert done.returncode == 127
    assert "@loomrec/cli has no binary for freebsd-" in done.stderr and "LOOMREC_BIN" in done.stderr


@pytest.fixture
def registry():
    """A registry that has the packages; those of other platforms without a binary."""
    registry = NpmRegistry()
    main = one_package("loomrec-cli-[0-9]*.tgz")
    for package in (one_package(f"loomrec-cli-{HOST.npm}-[0-9]*.tgz"), main):
        registry.add(package)
    for target in TARGETS.values():
        if target != HOST:
            name = f"@loomrec/cli-{target.npm}"
            registry.add_empty({"name": name, "version": version(), **target.npm_fields})
    yield registry
    registry.close()


INSTALLS = {
    "npm": (["npm", "install", "--no-audit", "--no-fund", "@loomrec/cli"], {}),
    "yarn-classic": (["node", str(YARN_CLASSIC), "add", "--no-progress", "@loomrec/cli"], {}),
    # Without zip files in place of folders, as most projects have it.
    "yarn": (["node", str(YARN), "add", "@loomrec/cli"], {"YARN_NODE_LINKER": "node-modules"}),
    "yarn-pnp": (["node", str(YARN), "add", "@loomrec/cli"], {"YARN_NODE_LINKER": "pnp"}),
    "pnpm": (["pnpm", "add", "@loomrec/cli"], {}),
}


@pytest.mark.parametrize("manager", INSTALLS)
def test_package_managers_install_the_binary_of_this_platform_alone(manager, registry, tmp_path):
    line, variables = INSTALLS[manager]
    project = tmp_path / "project"
    project.mkdir()
    (project / "package.json").write_text('{"name": "sample", "private": true}')
    environment = {**os.environ, "PATH": f"{MANAGERS}/.bin{os.pathsep}{os.environ['PATH']}", "HOME": str(tmp_path),
                   "NPM_CONFIG_REGISTRY": registry.url, "NPM_CONFIG_USERCONFIG": str(tmp_path / "npmrc"),
                   "YARN_REGISTRY": registry.url, "YARN_CACHE_FOLDER": str(tmp_path / "cache"), "YARN_NPM_REGISTRY_SERVER": registry.url,
                   "YARN_UNSAFE_HTTP_WHITELIST": "127.0.0.1", "YARN_ENABLE_GLOBAL_CACHE": "false",
                   "YARN_ENABLE_TELEMETRY": "false", "YARN_ENABLE_IMMUTABLE_INSTALLS": "false",
                   "YARN_NPM_MINIMAL_AGE_GATE": "0", **variables}
    for name in [name for name in environment if name.startswith("LOOMREC_")]:
        del environment[name]
    done = subprocess.run(line, cwd=project, env=environment, capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stdout + done.stderr
    run = {"yarn-pnp": ["node", str(YARN), "run", "loomrec"]}.get(manager, ["node_modules/.bin/loomrec"])
    said = subprocess.run([*run, "--version"], cwd=project, env=environment, capture_output=True, encoding="utf-8")
    assert said.stdout == f"loomrec {version()}\n", said.stdout + said.stderr
    folders = {path.name for path in project.glob("**/@loomrec/cli-*")}
    # Yarn Classic does not know which C library a package is for.
    others = {f"cli-{HOST.npm}-musl"} if manager == "yarn-classic" and HOST.is_linux else set()
    assert folders == {f"cli-{HOST.npm}"} | others, folders


def test_entry_points_of_the_package_can_be_loaded(installed):
    project, environment = installed
    program = "console.log(Object.keys(require('@loomrec/cli')).length > 0)"
    done = subprocess.run(["node", "-e", program], cwd=project, env=environment, capture_output=True, encoding="utf-8")
    assert done.stdout == "true\n", done.stderr
    # Every file that `exports` names is in the package.
    folder = project / "node_modules/@loomrec/cli"
    for entry in _files(json.loads((folder / "package.json").read_text())["exports"]):
        assert (folder / entry).is_file(), entry


def test_platform_package_fits_its_platform_only():
    description = _package_json(one_package(f"loomrec-cli-{HOST.npm}-[0-9]*.tgz"))
    assert description["os"] == [HOST.npm.split("-")[0]] and description["cpu"] == [HOST.npm.split("-")[1]]
    assert description.get("libc") == (["glibc"] if HOST.is_linux else None)
    assert "scripts" not in description


def test_main_package_names_every_platform_at_its_exact_version():
    named = _package_json(one_package("loomrec-cli-[0-9]*.tgz"))["optionalDependencies"]
    assert named == {f"@loomrec/cli-{target.npm}": version() for target in TARGETS.values()}


def _files(exports) -> list[str]:
    if isinstance(exports, str):
        return [exports]
    return [file for value in exports.values() for file in _files(value)]


def _package_json(package: Path) -> dict:
    with tarfile.open(package) as archive:
        return json.load(archive.extractfile("package/package.json"))


def _child(parent: int) -> int:
    for _ in range(100):
        found = subprocess.run(["pgrep", "-P", str(parent)], capture_output=True, encoding="utf-8").stdout.split()
        if found:
            return int(found[0])
        time.sleep(0.05)
    raise AssertionError("the launcher has no child")
