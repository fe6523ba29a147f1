"""The sample project is recorded by four processes, and replayed with the upstream gone."""

import re

import loop as ways

TESTS = 33
#: Tests without a recording: they call nothing, or have no mark.
WITHOUT = 4
NAMES = [
    "tests/auto/recordings/test_unmarked/test_needs_no_mark.json",
    "tests/recordings/by-name/umbrella.json",
    "tests/recordings/test_sdks/test_umbrella.json",
    "tests/recordings/test_shapes/TestAssistant.TestInner.test_in_a_class.json",
    "tests/recordings/test_shapes/TestAssistant.test_parameters[1].json",
    "tests/recordings/test_shapes/TestOldStyle.test_in_unittest.json",
    "tests/recordings/test_shapes/test_parameters[the-sea-is-wide]~f18772.json",
]


def test_recording_leaves_a_file_for_each_test(recorded):
    assert recorded.first.code == 0, recorded.first.stdout + recorded.first.stderr
    assert recorded.first.counts == {"passed": TESTS}
    recordings = recorded.recordings()
    assert len(recordings) == TESTS - WITHOUT
    assert set(NAMES) <= set(recordings), sorted(recordings)
    assert recorded.leftovers() == []
    assert re.fullmatch(rf"{TESTS - WITHOUT} tests recorded \(\$0\.\d+ spent\)", recorded.first.said[0])
    ways.assert_no_key_below(recorded.folder, recorded.first.stdout, recorded.first.stderr)


def test_replay_by_four_processes_needs_no_upstream_and_no_key(project):
    project.point_at("http://127.0.0.1:9")
    before = project.recordings()
    replayed = project.run("-n", "4")
    assert replayed.code == 0, replayed.stdout + replayed.stderr
    assert replayed.counts == {"passed": TESTS}
    assert re.fullmatch(rf"{TESTS - WITHOUT} tests replayed, \$0\.\d+( and .* (ms|s|min))? saved", replayed.said[0])
    silent = "tests/test_sdks.py::test_client_built_at_import_points_at_loomrec, tests/test_shapes.py::test_calls_nothing"
    # A stream without usage has no known cost.
    assert replayed.said[1:] == ["calls whose cost is not known: 1", f"marked tests without a call: {silent}"]
    assert project.recordings() == before
    assert project.leftovers() == []


def test_replay_by_one_process_is_the_same(project):
    replayed = project.run()
    assert replayed.code == 0, replayed.stdout + replayed.stderr
    assert replayed.counts == {"passed": TESTS}
    assert project.upstream.connections == 0


def test_one_test_alone_and_a_choice_of_tests(project):
    one = project.run("tests/test_shapes.py::TestAssistant::test_parameters[2]")
    assert one.counts == {"passed": 1}, one.stdout
    chosen = project.run("tests/test_shapes.py", "-k", "capital or threads")
    assert chosen.counts["passed"] == 2, chosen.stdout
    assert chosen.said and "without a test" not in chosen.stdout
    assert project.upstream.connections == 0


def test_collecting_alone_says_nothing(project):
    collected = project.run("--collect-only")
    assert collected.code == 0 and collected.said == [], collected.stdout
