"""Tests without a mark, in a folder that the settings name."""

import os

import pytest
from assistant import ask


def test_needs_no_mark():
    assert "no mark" in ask("no mark")


@pytest.mark.loomrec(off=True)
def test_switched_off():
    assert "LOOMREC_URL" not in os.environ
