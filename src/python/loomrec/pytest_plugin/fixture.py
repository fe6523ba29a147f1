"""The object of the fixture `loomrec`."""

from __future__ import annotations

import os
from pathlib import Path

from loomrec.journal import JournalLine
from loomrec.pytest_plugin.item_session import ItemSession
from loomrec.server import LoomrecError
from loomrec.sessions import TokenUsage


class LoomrecFixture:
    """What a test may ask loomrec, and tell it. With `--loomrec=off`, only `mode` can be asked."""

    def __init__(self, test: ItemSession | None) -> None:
        self._test = test

    @property
    def mode(self) -> str:
        """`replay`, `record`, `new` or `off`."""
        return "off" if self._test is None else self._test.session.mode

    @property
    def url(self) -> str:
        """The base URL of the test, for clients that read no variable: `url + "/openai/v1"`."""
        return self._on().session.url

    @property
    def recording(self) -> Path:
        """The test's recording."""
        return self._on().path

    @property
    def calls(self) -> list[JournalLine]:
        """The calls of the test so far, as lines of the journal (`docs/journal.md`)."""
        return self._on().session.show().calls

    @property
    def usage(self) -> TokenUsage:
        """Tokens of the calls so far: `usage.input`, `usage.output`."""
        return self._on().session.show().usage

    @property
    def cost_usd(self) -> float | None:
        """US dollars of the calls so far: spent if they were recorded, saved if replayed.

        None if no cost is known.
        """
        return self._on().session.show().cost_usd

    def var(self, name: str, value: str | os.PathLike[str]) -> None:
        """Names a value that differs in each run, such as a folder or an id (`docs/binding.md`).

        Call it before the test's first LLM call; later it raises `LoomrecError`.
        With `--loomrec=off` it does nothing.
        """
        if self._test is not None:
            self._test.add_vars(**{name: os.fspath(value)})

    def _on(self) -> ItemSession:
        if self._test is None:
            raise LoomrecError("loomrec is off (--loomrec=off): this test calls the real API")
        return self._test
