"""A pytest plug-in: replays the LLM calls of each marked test from a recording of its own.

`docs/pytest.md` shows how to use it. Here are its hooks.
"""

from __future__ import annotations

import argparse
import contextlib
import os
from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from loomrec.pytest_plugin.marks import DESCRIPTION, is_marked
from loomrec.pytest_plugin.settings import MODES, PluginSettings, read_settings
from loomrec.pytest_plugin.sources import mention_loomrec

if TYPE_CHECKING:
    from loomrec.pytest_plugin.fixture import LoomrecFixture
    from loomrec.pytest_plugin.run import LoomrecRun

_RUN: pytest.StashKey[LoomrecRun] = pytest.StashKey()
_WORKER = "PYTEST_XDIST_WORKER"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("loomrec", "recorded LLM calls")
    group.addoption(
        "--loomrec", dest="loomrec_mode", choices=MODES, metavar="MODE",
        help="what to do with the LLM calls of marked tests: replay (default); review: replay, and"
        " keep what is not recorded for a review; record: record them anew; new: replay what is"
        " recorded, record the rest; off: call the real API",
    )


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    _prepare(early_config, early_config.known_args_namespace)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", DESCRIPTION)
    if _RUN not in config.stash:  # a plug-in that a conftest.py names is loaded late
        _prepare(config, config.option)


def _prepare(config: pytest.Config, options: argparse.Namespace) -> None:
    if options.help or options.version:
        return
    from loomrec.pytest_plugin.run import WORKERS_VARIABLE, LoomrecRun

    handed = os.environ.pop(WORKERS_VARIABLE, None)
    worker = os.environ.get(_WORKER) if handed else None
    settings = read_settings(options.loomrec_mode, config.rootpath)
    run = LoomrecRun(settings, config.rootpath, worker or "main")
    config.stash[_RUN] = run
    config.pluginmanager.register(_ReportWatcher(run), "loomrec-report-watcher")
    config.add_cleanup(run.stop)
    if settings.mode == "off":
        return
    if handed is not None:
        run.connect(handed)
    elif settings.requested or _mentions_loomrec(config, options):
        run.start()


class _ReportWatcher:
    """Notes files and folders that skip themselves, and tests that fail: reports do not name their
    run."""

    def __init__(self, run: LoomrecRun) -> None:
        self._run = run

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._run.failed.add(report.nodeid)

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        if report.skipped:
            self._run.summary.uncollected.append(report.nodeid)


def _mentions_loomrec(config: pytest.Config, options: argparse.Namespace) -> bool:
    where = Path(config.invocation_params.dir)
    given = [Path(where, str(argument).split("::")[0]) for argument in options.file_or_dir]
    if not given and where == config.rootpath:
        given = [path for text in config.getini("testpaths") for path in sorted(where.glob(text))]
    patterns, skipped = config.getini("python_files"), config.getini("norecursedirs")
    return mention_loomrec(given or [where], config.rootpath, patterns, skipped)


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    run = session.config.stash.get(_RUN, None)
    if run is not None and session.config.pluginmanager.hasplugin("dsession"):
        run.hand_to_workers()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> Generator[None, Any, Any]:
    """Other hooks mark tests, add some and deselect some: all that were there are noted."""
    found = list(items)
    result = yield
    if _RUN in config.stash:
        config.stash[_RUN].take_items(list(dict.fromkeys([*found, *items])))
    return result


def pytest_deselected(items: list[pytest.Item]) -> None:
    if items and _RUN in items[0].config.stash:
        items[0].config.stash[_RUN].summary.deselected += len(items)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, Any, Any]:
    item.config.stash[_RUN].point_environment(item)
    return (yield)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    run = item.config.stash[_RUN]
    if run.is_marked(item):
        run.begin(item)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """A missed call fails a test that has swallowed the error, or skipped itself on it."""
    try:
        result = yield
    except pytest.skip.Exception:
        _check_calls(item)
        raise
    _check_calls(item)
    return result


def _check_calls(item: pytest.Item) -> None:
    from loomrec.pytest_plugin.item_session import ITEM_SESSION, fail
    from loomrec.server import LoomrecError

    test = item.stash.get(ITEM_SESSION, None)
    if test is None:
        return
    try:
        problem = test.find_problem()
    except LoomrecError as error:
        problem = item.config.stash[_RUN].explain(error)
    if problem is not None:
        fail(item, problem)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, Any, Any]:
    from loomrec.pytest_plugin.item_session import ITEM_SESSION, PROBLEM, fail

    run = item.config.stash[_RUN]
    try:
        result = yield
    except BaseException:
        if ITEM_SESSION in item.stash:
            item.stash[ITEM_SESSION].passed = False
        problem = run.end(item)
        if problem is not None:
            item.stash[PROBLEM] = problem
        raise
    problem = run.end(item)
    if problem is not None:
        fail(item, problem)
    return result


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """What loomrec found wrong fails the report. Outermost: neither a skip nor a failure that is
    expected has the last word, and `unittest` replaces the error of a test by its own."""
    from loomrec.pytest_plugin.item_session import ITEM_SESSION, PROBLEM, fail_report
    from loomrec.server import LoomrecError

    report = yield
    test = item.stash.get(ITEM_SESSION, None)
    problem = item.stash.get(PROBLEM, None)
    if problem is not None:
        del item.stash[PROBLEM]
    elif test is not None and call.excinfo is not None:
        try:
            problem = test.describe_misses()
        except LoomrecError as error:
            problem = item.config.stash[_RUN].explain(error)
    if problem is not None:
        fail_report(report, problem)
    if test is not None:
        test.note_report(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_fixture_setup(
    fixturedef: pytest.FixtureDef[Any], request: pytest.FixtureRequest
) -> Generator[None, Any, Any]:
    run = request.config.stash.get(_RUN, None)
    if run is not None and run.is_active and fixturedef.scope != "function":
        with run.fixture_threads():
            value = yield
    else:
        value = yield
    if fixturedef.argname == "tmp_path":
        from loomrec.pytest_plugin.item_session import ITEM_SESSION
        from loomrec.server import LoomrecError

        if ITEM_SESSION in request.node.stash:
            # After a call it is too late; then the folder above it is the value of the run.
            with contextlib.suppress(LoomrecError):
                request.node.stash[ITEM_SESSION].add_vars(tmp_path=str(value))
    return value


@pytest.fixture
def loomrec(request: pytest.FixtureRequest) -> LoomrecFixture:
    """What loomrec knows of this test: url, calls, usage, cost_usd, recording, mode, var()."""
    from loomrec.pytest_plugin.fixture import LoomrecFixture
    from loomrec.pytest_plugin.item_session import ITEM_SESSION

    settings: PluginSettings = request.config.stash[_RUN].settings
    test = request.node.stash.get(ITEM_SESSION, None)
    if test is None and not is_marked(request.node, request.config.rootpath, settings.auto):
        pytest.fail("the fixture `loomrec` needs the mark: @pytest.mark.loomrec", pytrace=False)
    return LoomrecFixture(test)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    run = session.config.stash.get(_RUN, None)
    if run is None:
        return
    run.close()
    output = getattr(session.config, "workeroutput", None)
    if output is not None:
        output["loomrec"] = run.summary.to_dict()
        return
    run.problem = run.finish()
    if run.problem is not None and session.exitstatus in (
        pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED
    ):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Adds the counts of a worker of pytest-xdist."""
    from loomrec.pytest_plugin.summary import RunSummary

    output = getattr(node, "workeroutput", None) or {}
    if "loomrec" in output and _RUN in node.config.stash:
        node.config.stash[_RUN].summary.merge(RunSummary.from_dict(output["loomrec"]))


def pytest_terminal_summary(terminalreporter: Any, exitstatus: int, config: pytest.Config) -> None:
    from loomrec.pytest_plugin.moves import describe_moves, find_moves
    from loomrec.pytest_plugin.orphans import orphans_of_run
    from loomrec.pytest_plugin.summary import orphan_line
    from loomrec.pytest_plugin.waiting import describe_waiting

    run = config.stash.get(_RUN, None)
    if run is None or run.settings.mode == "off":
        return
    lines = list(run.summary.lines())
    folder = run.settings.recordings
    lines += describe_waiting(config, run.settings, run.summary)
    moves = find_moves(config, folder, run.summary)
    lines += describe_moves(config, moves)
    orphans = orphans_of_run(config, terminalreporter, exitstatus, folder, run.summary)
    orphans = [path for path in orphans if path not in moves]
    if orphans:
        lines.append(orphan_line(orphans))
    ended = run.server_end()
    for line in [*lines, *filter(None, [ended, run.problem])]:
        terminalreporter.write_line(f"loomrec: {line}")
