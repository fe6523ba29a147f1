"""A test without a mark: its environment is as pytest got it."""

import os


def test_environment_is_untouched():
    assert "LOOMREC_URL" not in os.environ
    assert os.environ.get("OPENAI_BASE_URL") == os.environ.get("SAMPLE_EXPECTED_BASE_URL")
