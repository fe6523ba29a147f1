"""AgentLoom's command line on loomrec: `python -m loomrec.agentloom run flow.yaml`.

`provider: mock`, `--mock-responses` and `replay` answer from a recording by way of loomrec,
`--record` records by way of it, and under `loomrec … -- CMD` the real providers are attached.
"""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import agentloom.cli.main
import agentloom.cli.run
import agentloom.providers.mock
import agentloom.providers.recorder
import yaml

from loomrec.agentloom.link import attach
from loomrec.agentloom.mock import MockProvider
from loomrec.agentloom.recorder import RecordingProvider


def main() -> None:
    """Runs AgentLoom's command line. Its exit code is AgentLoom's."""
    use_loomrec(sys.argv[1:])
    agentloom.cli.main.app(prog_name="python -m loomrec.agentloom")


def use_loomrec(words: Sequence[str]) -> None:
    """Puts loomrec's providers where AgentLoom's commands look for its own."""
    mock: Any = functools.partial(MockProvider, default_response=_default_response(words))
    agentloom.providers.mock.MockProvider = mock  # type: ignore[misc]
    agentloom.providers.recorder.RecordingProvider = RecordingProvider  # type: ignore[misc,assignment]
    if not os.environ.get("LOOMREC_URL"):
        return
    # AgentLoom looks for Google's key under one name only, loomrec's stand-in has the other.
    if "GEMINI_API_KEY" in os.environ:
        os.environ.setdefault("GOOGLE_API_KEY", os.environ["GEMINI_API_KEY"])
    set_up = agentloom.cli.run._setup_providers

    @functools.wraps(set_up)
    def set_up_and_attach(gateway: Any, *arguments: Any, **more: Any) -> None:
        set_up(gateway, *arguments, **more)
        attach(gateway)

    agentloom.cli.run._setup_providers = set_up_and_attach


def _default_response(words: Sequence[str]) -> str | None:
    """Returns what the workflow's block asks for. AgentLoom's own reader leaves it out."""
    for word in words:
        if not word.endswith((".yaml", ".yml")) or not Path(word).is_file():
            continue
        try:
            document = yaml.safe_load(Path(word).read_text(encoding="utf-8"))
        except (OSError, yaml.YAMLError):
            # The command itself says what is wrong with the file.
            return None
        config = document.get("config") if isinstance(document, dict) else None
        text = config.get("default_response") if isinstance(config, dict) else None
        return None if text is None else str(text)
    return None


if __name__ == "__main__":
    main()
