"""MCP's own clients and servers over stdio, with `loomrec mcp` in front of the servers: recorded, and replayed
strictly without a process of the server."""

import json
import re

import pytest

import loop as ways

PACKAGES = ways.NODE_HOME / "node_modules/@modelcontextprotocol"
# Adds a line to a file, and becomes the server.
COUNTED = 'echo started >> starts; exec "$@"'
CLIENTS = ["mcp_stdio_client.py", "mcp_stdio_client.mjs"]


def served(loomrec, name: str, *arguments: str, variables: tuple[str, ...] = ()) -> list[str]:
    """The command of a server, behind loomrec and counted."""
    server = [*(["env", *variables] if variables else []), "node", str(PACKAGES / f"server-{name}/dist/index.js"), *arguments]
    return [loomrec.binary, "mcp", "--name", name, "--", "sh", "-c", COUNTED, "sh", *server]


def talks(loomrec, folder) -> dict:
    """Each server with calls of its tools."""
    (folder / "files").mkdir()
    (folder / "files/warp.txt").write_text("threads", encoding="utf-8")
    long = {"duration": 0.3, "steps": 3}
    file = str(folder / "files/warp.txt")
    node = {"name": "loom", "entityType": "machine", "observations": ["weaves"]}
    return {
        "everything": (served(loomrec, "everything"), [
            ["echo", {"message": "weft"}], ["get-sum", {"a": 2, "b": 3.5}], ["get-tiny-image", {}],
            ["trigger-long-running-operation", long], ["no-such-tool", {}], ["echo", {"message": "weft"}]]),
        "filesystem": (served(loomrec, "filesystem", str(folder / "files")), [
            ["list_directory", {"path": str(folder / "files")}], ["read_text_file", {"path": file}],
            ["write_file", {"path": file, "content": "cloth"}], ["read_text_file", {"path": file}],
            ["read_text_file", {"path": "/etc/hostname"}]]),
        "memory": (served(loomrec, "memory", variables=(f"MEMORY_FILE_PATH={folder / 'memory.jsonl'}",)), [
            ["create_entities", {"entities": [node]}], ["read_graph", {}], ["search_nodes", {"query": "loom"}]]),
    }


def starts(folder) -> int:
    path = folder / "starts"
    return len(path.read_text(encoding="utf-8").splitlines()) if path.exists() else 0


@pytest.mark.parametrize("client", CLIENTS, ids=["python", "node"])
@pytest.mark.parametrize("name", ["everything", "filesystem", "memory"])
def test_tools_over_stdio_are_replayed_without_their_server(loomrec, upstream, tmp_path, name, client):
    recording = tmp_path / "recording.json"
    command, calls = talks(loomrec, tmp_path)[name]
    line = ways.command(client, json.dumps(calls), *command)
    direct = ways.command(client, json.dumps(calls), *command[5:])
    recorded = loomrec.record(recording, upstream.url, line)
    assert recorded.code == 0, recorded.stderr
    seen = recorded.document
    assert len(seen["calls"]) == len(calls) and seen["tools"], seen
    assert recorded.receipt["recorded"] >= len(calls) + 2, recorded.receipt
    assert starts(tmp_path) == 1
    if name == "everything":
        assert len(seen["progress"]) == 3, seen
        plain = ways.execute(direct, ways.environment(), tmp_path)
        alone = json.loads(plain.stdout)
        # The SDK for Node drops progress that it reads together with the response.
        assert alone.pop("progress") == [[done, 3] for done in (1, 2, 3)][:len(json.loads(plain.stdout)["progress"])]
        assert alone == {name: value for name, value in seen.items() if name != "progress"}
        assert starts(tmp_path) == 2
        (tmp_path / "starts").write_text("started\n", encoding="utf-8")
    for _ in range(2):
        replayed = loomrec.replay(recording, line, "--fail-unused")
        assert replayed.code == 0, replayed.stderr
        assert replayed.document == seen
    assert starts(tmp_path) == 1


@pytest.mark.parametrize("client", CLIENTS, ids=["python", "node"])
def test_changed_argument_over_stdio_is_a_miss_that_the_sdk_shows(loomrec, upstream, tmp_path, client):
    recording = tmp_path / "recording.json"

    def line(word: str) -> list[str]:
        return ways.command(client, json.dumps([["echo", {"message": word}]]), *served(loomrec, "everything"))

    recorded = loomrec.record(recording, upstream.url, line("weft"))
    assert recorded.code == 0, recorded.stderr
    replayed = loomrec.replay(recording, line("warp"))
    assert replayed.code == 1, replayed.stderr
    assert replayed.receipt["missed"] == 1, replayed.receipt
    code, message = replayed.document["calls"][0]
    assert code == 422 and re.search(r"RecordingMismatchError: .*tools/call echo", message, re.DOTALL), message
    assert '"warp"' in message and starts(tmp_path) == 1
