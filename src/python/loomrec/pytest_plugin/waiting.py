"""Requests that tests have missed and that wait for answers, after a run with `--loomrec=review`."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Sequence

import pytest

from loomrec.pytest_plugin.settings import PluginSettings
from loomrec.pytest_plugin.summary import RunSummary

#: Flags of the server that `loomrec rerecord` needs too.
_SHARED = ("--upstream", "--redact", "--prices")


def describe_waiting(
    config: pytest.Config, settings: PluginSettings, summary: RunSummary
) -> list[str]:
    """Returns the text with the commands for what waits; nothing if nothing does."""
    waiting = [test for test in summary.tests.values() if test.pending]
    if not waiting:
        return []
    parents = [os.path.dirname(test.recording) for test in waiting]
    common = config.rootpath / os.path.commonpath(parents)
    # The slash keeps loomrec from taking the word for the key of a call.
    folder = os.path.relpath(common, config.invocation_params.dir) + "/"
    calls = sum(test.pending for test in waiting)
    flags = list(_shared_flags([word for upstream in settings.upstream
                                for word in ("--upstream", upstream)] + list(settings.args)))
    fetch = shlex.join(["loomrec", "rerecord", folder, "--pending", *flags])
    number = "a call waits" if calls == 1 else f"{calls} calls wait"
    return [f"{number} for new answers. If the changes are meant:\n  {fetch}\n  "
            + shlex.join(["loomrec", "review", folder])]


def _shared_flags(words: Sequence[str]) -> Iterator[str]:
    for word, value in zip(words, [*words[1:], ""]):
        if word in _SHARED and "@" not in value:  # an address may hold a password
            yield from (word, value)
        elif word.split("=")[0] in _SHARED and "@" not in word:
            yield word
