"""The environment variables that point SDKs at the server while marked tests run."""

from __future__ import annotations

import os
from collections.abc import Mapping


class EnvironmentOverlay:
    """Sets variables, and puts back what was there before."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        self._variables = dict(variables)
        self._before: dict[str, str | None] | None = None

    def apply(self) -> None:
        """Sets the variables. Does nothing if they are set."""
        if self._before is None:
            self._before = {name: os.environ.get(name) for name in self._variables}
            os.environ.update(self._variables)

    def withdraw(self) -> None:
        """Puts back the values from before. Does nothing if the variables are not set."""
        before, self._before = self._before, None
        for name, value in (before or {}).items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
