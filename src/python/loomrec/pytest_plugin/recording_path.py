"""Where the recording of a test is: `FOLDER/recordings/MODULE/CLASS.test[param].json`.

The path depends on the test's name alone, so that it is the same for any selection of tests.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

import pytest

_OTHER_CHARACTERS = re.compile(r"[^A-Za-z0-9_.,=@+()\[\]-]+")
#: The most characters of a file's name, without its ending.
_MOST_CHARACTERS = 100
#: Names that Windows reserves for devices.
_DEVICES = re.compile(r"(con|prn|aux|nul|com\d|lpt\d)(\..*)?", re.IGNORECASE)


def recording_path(item: pytest.Item, root: Path, folder: str, name: str | None) -> str:
    """Returns the path of a test's recording, relative to the root, with `/`.

    `folder` is the name of the folder beside the test; `name` the recording that the mark names.
    Raises `ValueError` if the file would be outside of the root.
    """
    test_file = item.path
    if name is None:
        below = Path(safe_name(test_file.stem), safe_name(_test_name(item)) + ".json")
    else:
        below = _named(name)
    path = test_file.parent / folder / below
    try:
        return path.relative_to(root).as_posix()
    except ValueError:
        raise ValueError(f"the recording {path} would be outside of the root {root}") from None


def safe_name(name: str) -> str:
    """Returns a name that every file system takes.

    Characters that some do not take become `-`. A name that was changed ends in a part of its
    hash, so that no two tests share a file.
    """
    safe = _OTHER_CHARACTERS.sub("-", name)[:_MOST_CHARACTERS]
    if safe == name and not safe.startswith(".") and not _DEVICES.fullmatch(safe):
        return safe
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:6]
    return f"{safe.lstrip('.')}~{digest}"


def _test_name(item: pytest.Item) -> str:
    classes = [node.name for node in item.listchain() if isinstance(node, pytest.Class)]
    return ".".join([*classes, item.name])


def _named(name: str) -> Path:
    path = Path(name if name.endswith(".json") else f"{name}.json")
    if path.is_absolute() or ".." in path.parts or "\\" in name:
        raise ValueError(
            f"recording={name!r} must be the name of a file beside the other recordings"
        )
    return path
