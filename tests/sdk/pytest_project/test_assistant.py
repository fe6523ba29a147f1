"""Its tests, which know nothing of a recorder."""

import pytest
from assistant import summarise, tell


@pytest.mark.parametrize("text", ["the sea is wide", "the night is long", "bread needs time"])
def test_a_summary_speaks_of_the_text(text):
    assert text in summarise(text)


def test_a_told_summary_comes_in_pieces():
    pieces = list(tell("rivers meet the sea"))
    assert len(pieces) > 3
    assert "rivers meet the sea" in "".join(pieces)
