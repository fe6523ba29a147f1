"""Names of recordings: readable, for every file system, and never shared by two tests."""

import pytest

from loomrec.pytest_plugin.recording_path import safe_name


@pytest.mark.parametrize("name", ["test_a", "TestA.test_b[1-x]", "test[gpt-4o,temperature=0.5]", "test(a)+b@c"])
def test_harmless_name_stays(name):
    assert safe_name(name) == name


@pytest.mark.parametrize("name, readable", [
    ("test[say hello]", "test[say-hello]~"), ("test[a/b]", "test[a-b]~"), ("test[..\\..\\x]", "test[..-..-x]~"),
    ("test[a:b?*|<>\"]", "test[a-b-]~"), ("..", "~"), (".hidden", "hidden~"), ("nul", "nul~"), ("COM1.x", "COM1.x~"),
])
def test_other_names_are_changed_and_told_apart(name, readable):
    safe = safe_name(name)
    assert safe.startswith(readable) and len(safe) == len(readable) + 6, safe
    assert safe == safe_name(name), "the same in each run"


def test_names_that_would_be_the_same_differ():
    names = ["test[a b]", "test[a/b]", "test[a-b]", "test[" + "x" * 300 + "1]", "test[" + "x" * 300 + "2]"]
    assert len({safe_name(name) for name in names}) == len(names)
    assert all(len(safe_name(name)) <= 110 for name in names)
