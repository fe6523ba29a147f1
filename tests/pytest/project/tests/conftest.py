"""A client that the whole session shares."""

import pytest


@pytest.fixture(scope="session")
def shared_client():
    import openai

    return openai.OpenAI()
