"""Housekeeping: which recordings a bucket holds, and how a recording or leaked content is removed."""

from __future__ import annotations

import gzip
import json
import re

import pytest

from machine import calls, contents, entries, expected
from object_store import READER
from proxy import OldObjects

SECRET = "geheim-7391"


def push(machine, url, *flags, name="agent.json"):
    outcome = machine.run("push", name, url, *flags)
    assert outcome.code == 0, outcome.stderr


def sizes(bucket, name):
    """Returns the length of each object of a recording."""
    pages = bucket.client.get_paginator("list_objects_v2").paginate(Bucket=bucket.name, Prefix=f"{name}/")
    return {each["Key"]: each["Size"] for page in pages for each in page.get("Contents", [])}


@pytest.fixture
def team(machine, make_machine, bucket):
    """A bucket with three recordings, one of which has segments only, and another object."""
    assert machine.record("agent.json").code == 0
    push(machine, bucket.url("team/pushed") + "@v1", name="agent.json")
    push(machine, bucket.url("other"))
    assert make_machine().record(bucket.url("team/deep/recorded"), "--run", "r").code == 0
    bucket.put("team/notes.txt", b"no recording")
    bucket.put("team/pushed/notes.txt", b"no object of it")
    return bucket


def listed(machine, url):
    outcome = machine.run("ls", "--json", url)
    assert outcome.code == 0, outcome.stderr
    return {row["url"]: row for row in json.loads(outcome.stdout)}


def test_recordings_of_a_prefix_are_listed(machine, make_machine, team):
    below = listed(machine, f"s3://{team.name}/team/")
    assert list(below) == [team.url("team/deep/recorded"), team.url("team/pushed")]
    pushed = below[team.url("team/pushed")]
    objects = sizes(team, "team/pushed")
    assert pushed["bytes"] == sum(objects.values()) - objects["team/pushed/notes.txt"]
    assert (pushed["states"], pushed["objects"], pushed["segments"], pushed["has_ref"]) == (1, 3, 0, True)
    recorded = below[team.url("team/deep/recorded")]
    assert recorded["bytes"] == sum(sizes(team, "team/deep/recorded").values())
    assert (recorded["states"], recorded["objects"], recorded["has_ref"]) == (0, 0, False)
    assert recorded["segments"] == len(team.segments("team/deep/recorded"))
    for url in (f"s3://{team.name}", f"s3://{team.name}/"):
        assert list(listed(make_machine(READER), url)) == [team.url("other"), *below]


def test_list_for_people_has_size_and_age(machine, team, proxy):
    proxy.rules.change.append(OldObjects(team.keys("team/pushed/")))
    outcome = machine.run("ls", f"s3://{team.name}/team/")
    assert outcome.code == 0, outcome.stderr
    head, first, second = outcome.stdout.splitlines()[:3]
    assert head.split()[:3] == ["RECORDING", "BYTES", "CHANGED"]
    assert re.search(rf"{team.url('team/deep/recorded')} +\d+ +\d+ s ago", first), first
    objects = sizes(team, "team/pushed")
    size = sum(objects.values()) - objects["team/pushed/notes.txt"]
    assert re.search(rf"{team.url('team/pushed')} +{size} +(200 d|6 mo) ago", second), second


def test_lost_reference_is_shown_in_the_list(machine, team):
    team.delete("other/ref")
    outcome = machine.run("ls", f"s3://{team.name}")
    assert [line for line in outcome.stdout.splitlines() if "no ref" in line][0].startswith(team.url("other"))


@pytest.mark.parametrize(("url", "code", "text"), [
    ("s3://BUCKET/nothing/", 0, "s3://BUCKET/nothing/: there are no recordings"),
    ("s3://no-such-bucket-here/", 4, "the store at http"),
    ("s3://BUCKET//", 2, "the name has parts of letters"),
    ("s3://b/", 2, "the name of a bucket has 3 or more letters"),
    ("s3://BUCKET/team", 4, "with a / at its end lists"),
], ids=["empty", "no bucket", "two slashes", "short bucket", "no slash"])
def test_prefix_without_recordings(machine, team, url, code, text):
    outcome = machine.run("ls", url.replace("BUCKET", team.name))
    assert outcome.code == code, outcome.stderr
    assert text.replace("BUCKET", team.name) in outcome.stdout + outcome.stderr
    assert len(outcome.error_lines) == (1 if code else 0), outcome.stderr


def test_one_recording_is_still_listed_by_its_takes(machine, team):
    outcome = machine.run("ls", team.url("other"))
    assert outcome.code == 0 and "KEY" in outcome.stdout, outcome.stdout


def test_delete_removes_a_whole_recording_and_nothing_else(machine, make_machine, team):
    before = team.contents()
    shown = machine.run("gc", team.url("team/pushed"), "--delete")
    assert shown.code == 0 and "--apply removes the whole recording" in shown.stderr, shown.stderr
    assert team.contents() == before
    outcome = machine.run("gc", team.url("team/pushed"), "--delete", "--apply")
    assert outcome.code == 0, outcome.stderr
    gone = {key for key in before if key.startswith("team/pushed/") and not key.endswith("notes.txt")}
    assert set(shown.stdout.split()) == set(outcome.stdout.split()) == gone
    assert team.contents() == {key: content for key, content in before.items() if key not in gone}
    again = machine.run("gc", team.url("team/pushed"), "--delete", "--apply")
    assert again.code == 5 and "the store does not have it" in again.stderr, again.stderr
    assert make_machine().run("pull", team.url("team/pushed")).code == 4
    assert machine.run("gc", team.url("team/deep/recorded"), "--delete", "--apply").code == 0
    assert team.keys("team/deep/") == []


@pytest.fixture
def leaked(machine, bucket):
    """A recording whose newest state has no secret, and two older ones, one with a tag, that have it."""
    url = bucket.url()
    assert machine.record("agent.json", client=calls("harmless")).code == 0
    assert machine.record("agent.json", client=calls(SECRET, 2)).code == 0
    push(machine, f"{url}@v1")
    assert machine.record("agent.json", client=calls(SECRET, 1, first=2)).code == 0
    push(machine, url)
    outcome = machine.run("redact", "agent.json", "--redact", SECRET, "--apply")
    assert outcome.code == 0, outcome.stderr
    push(machine, url)
    return url


def holds_secret(contents_of_files):
    return [name for name, content in contents_of_files.items()
            if SECRET.encode() in content or (content[:2] == b"\x1f\x8b" and SECRET.encode() in gzip.decompress(content))]


def cached(machine):
    return {str(path): path.read_bytes() for path in machine.cache.rglob("*") if path.is_file()}


def test_purge_removes_what_leaked_at_once(machine, make_machine, bucket, leaked):
    assert machine.run("pull", f"{leaked}@v1", "-o", "old.json").code == 0
    assert machine.run("pull", leaked, "-o", "new.json").code == 0
    new = json.loads(machine.path("new.json").read_bytes())
    assert SECRET not in json.dumps(new) and len(entries(new)) == 6
    assert holds_secret(bucket.contents()) and holds_secret(cached(machine))
    tagged = json.loads(bucket.get("agent/tags/v1"))["manifest"]

    before = bucket.contents()
    shown = machine.run("gc", leaked, "--purge")
    assert shown.code == 0 and "--apply removes" in shown.stderr, shown.stderr
    assert bucket.contents() == before
    outcome = machine.run("gc", leaked, "--purge", "--apply")
    assert outcome.code == 0, outcome.stderr
    for said in (shown, outcome):
        assert f"what pins {tagged} (written 20" in said.stderr
        assert len(re.findall("what pins sha256:", said.stderr)) == 2
        assert "the tag v1 goes" in said.stderr
    assert set(outcome.stdout.split()) == set(before) - set(bucket.keys())
    assert holds_secret(bucket.contents()) == []
    assert holds_secret(cached(machine)) == []
    assert make_machine().pull(leaked) == new
    assert make_machine().run("verify", "--deep", leaked).code == 0
    assert make_machine().run("pull", f"{leaked}@v1").code == 4


def test_purge_refuses_calls_that_are_not_merged(machine, make_machine, bucket, leaked):
    assert make_machine().record(leaked, "--run", "r", client=calls("late")).code == 0
    before = bucket.contents()
    outcome = machine.run("gc", leaked, "--purge", "--apply")
    assert outcome.code == 5, outcome.stderr
    assert f"loomrec merge {leaked}" in outcome.stderr
    assert bucket.contents() == before


def test_purge_names_takes_that_others_replace(machine, make_machine, bucket, upstream):
    """They stay in the newest state until it is pushed."""
    for edition in (1, 2):
        upstream.edition = edition
        assert make_machine().record(bucket.url()).code == 0
    outcome = machine.run("gc", bucket.url(), "--purge", "--apply")
    assert outcome.code == 0, outcome.stderr
    assert "takes that others replace stay in the newest state: 3" in outcome.stderr
    assert machine.run("pull", bucket.url(), "-o", "agent.json").code == 0
    push(machine, bucket.url(), "--force")
    outcome = machine.run("gc", bucket.url(), "--purge", "--apply")
    assert outcome.code == 0 and "replace" not in outcome.stderr, outcome.stderr
    assert len(bucket.keys("agent/objects/")) == 3
    assert contents(make_machine().pull(bucket.url())) == expected("call", range(3), 2)


@pytest.fixture
def pinned(machine, bucket, upstream, proxy):
    """Three states without tags that are old. A checkout has pointers to the first."""
    (machine.work / "checkout/tests").mkdir(parents=True)
    for edition in (1, 2, 3):
        upstream.edition = edition
        assert machine.record("agent.json").code == 0
        push(machine, bucket.url(), "--output", f"checkout/tests/{edition}.remote.json", "--force")
        if edition > 1:
            (machine.work / f"checkout/tests/{edition}.remote.json").rename(machine.work / f"{edition}.remote.json")
    proxy.rules.change.append(OldObjects(bucket.keys()))
    return machine.work / "checkout"


def test_states_of_pointer_files_are_kept(machine, make_machine, bucket, pinned):
    outcome = machine.run("gc", bucket.url(), "--apply", "--keep", "0d", "--keep", pinned)
    assert outcome.code == 0 and "states that are kept: 2" in outcome.stderr, outcome.stderr
    assert contents(make_machine().pull(pinned / "tests/1.remote.json")) == expected("call", range(3), 1)
    assert contents(make_machine().pull(bucket.url())) == expected("call", range(3), 3)
    assert make_machine().run("pull", machine.work / "2.remote.json").code == 4


def test_pointer_to_a_state_that_is_gone_is_named(machine, make_machine, bucket, pinned):
    assert machine.run("gc", bucket.url(), "--apply", "--keep", "0d").code == 0
    outcome = make_machine().run("gc", bucket.url(), "--apply", "--keep", pinned)
    assert outcome.code == 0, outcome.stderr
    state = json.loads((pinned / "tests/1.remote.json").read_bytes())["manifest"]
    assert f"a pointer file names {state}, and the store does not have it" in outcome.stderr
    assert "states that are kept: 1" in outcome.stderr


@pytest.mark.parametrize("problem", ["none", "file", "empty", "damaged"])
def test_folders_without_usable_pointers_are_refused(machine, bucket, pinned, problem):
    folder = machine.work / problem
    if problem == "file":
        folder.write_text("no folder")
    elif problem != "none":
        folder.mkdir()
    if problem == "damaged":
        (folder / "agent.remote.json").write_text("{")
    before = bucket.keys()
    outcome = machine.run("gc", bucket.url(), "--apply", "--keep", "0d", "--keep", pinned,
                          "--keep", folder)
    text = {"none": "it is no folder", "file": "it is no folder", "empty": "no pointer file below it names s3://",
            "damaged": "agent.remote.json"}[problem]
    assert outcome.code == (5 if problem == "damaged" else 2), outcome.stderr
    assert text in outcome.stderr
    assert bucket.keys() == before


@pytest.mark.parametrize("flags", [("--purge", "--delete"), ("--purge", "--keep", "1d"), ("--delete", "--keep", "1d"),
                                   ("--purge", "--keep", "."), ("--delete", "--keep", ".")])
def test_flags_that_contradict_each_other(machine, bucket, flags):
    outcome = machine.run("gc", bucket.url(), *flags)
    assert outcome.code == 2 and "cannot be used with" in outcome.stderr, outcome.stderr
