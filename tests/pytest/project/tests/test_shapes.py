"""Tests of every shape: parameters, classes, threads, names, folders in prompts."""

import unittest
import uuid

import pytest
from assistant import ask, ask_many, careless

pytestmark = pytest.mark.loomrec


def test_capital():
    assert "capital" in ask("What is the capital of France?")


@pytest.mark.parametrize("text", ["the sea is wide", "a/b: c?", "ünïcode"])
def test_parameters(text):
    assert text in ask(text)


class TestAssistant:
    def test_in_a_class(self):
        assert "class" in ask("in a class")

    @pytest.mark.parametrize("number", [1, 2])
    def test_parameters(self, number):
        assert f"number {number}" in ask(f"number {number}")

    class TestInner:
        def test_in_a_class(self):
            assert "inner" in ask("in an inner class")


class TestOldStyle(unittest.TestCase):
    def test_in_unittest(self):
        self.assertIn("unittest", ask("unittest"))


def test_same_call_twice():
    assert ask("count the calls") != ask("count the calls")


@pytest.mark.loomrec(recording="by-name/umbrella")
def test_recording_has_a_name_of_its_own(loomrec):
    assert "named" in ask("a named recording")
    assert loomrec.recording.as_posix().endswith("tests/recordings/by-name/umbrella.json")


def test_threads(loomrec):
    texts = [f"question {number}" for number in range(24)]
    answers = ask_many(texts)
    assert all(text in answer for text, answer in zip(texts, answers))
    assert len(loomrec.calls) == 24


def test_folder_in_the_prompt(tmp_path):
    assert str(tmp_path) in ask(f"Read {tmp_path}/notes.txt")


def test_folder_made_by_hand(tmp_path_factory):
    folder = tmp_path_factory.mktemp("made")
    assert str(folder) in ask(f"List {folder} please")


def test_value_of_the_run(loomrec):
    ticket = f"/tickets/{uuid.uuid4().hex}"
    loomrec.var("ticket", ticket)
    assert ticket in ask(f"Close {ticket} please")


def test_careless():
    assert careless("anything at all")


def test_calls_nothing(loomrec):
    assert loomrec.calls == []
