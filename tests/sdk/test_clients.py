"""Each client by a base URL and by interception: what was recorded one way is replayed the other way. Clients
that ignore a proxy get nothing, and the run says so."""

import importlib.metadata
import json
import os
import shutil

import pytest

import client_table
import loop as ways
import resolved
from upstream import Upstream

DIRECT = "--direct"
INTERCEPT = "--intercept"
SYSTEMS = "of the system"
NOTHING, PAST, ITSELF = "–", "no: it connects past loomrec", "no: it opens no tunnel"

# Clients that use the proxy of their environment, as the table names them: their program, and its
# first argument. Those of the system are tried where it has them.
PYTHON = {name: ("clients.py", name.replace("-", "_"))
          for name in ("openai", "anthropic", "google-genai", "mistralai", "cohere", "groq", "litellm")}
NODE = {f"{name}, Node 24": ("clients.mjs", name)
        for name in ("openai", "@anthropic-ai/sdk", "@google/genai", "ai", "axios")}
NODE["axios, Node 20"] = ("clients.mjs", "axios")
SYSTEM = {"curl": ("clients.py", "curl"), "Go's net/http": ("clients.py", "go"),
          "java.net.http, with a proxy and authorities": ("clients.py", "java_configured")}
CLIENTS = {**PYTHON, **NODE, **SYSTEM}
OLD_AXIOS = "axios 1.7, Node 24"


def node_of(name):
    return ways.node(20 if "Node 20" in name else 24)


def is_here(name):
    return name not in SYSTEM or shutil.which(name.split(".")[0].split("'")[0].lower()) is not None


@pytest.mark.parametrize("name", [*filter(is_here, CLIENTS)])
def test_client_is_replayed_by_base_url_and_by_interception(name, loomrec, alone, upstream, tmp_path):
    def line(*words):
        program, client = CLIENTS[name]
        return ways.command(program, client, *words, node=node_of(name))

    recording, said = tmp_path / "recording.json", [{"value": f"You said “{it}” 🙂"} for it in ("based", "direct")]
    recorded = loomrec.record(recording, upstream.url, line("based", DIRECT, "direct"), INTERCEPT)
    assert (recorded.code, recorded.document["answers"]) == (0, said), recorded.stderr
    receipt = recorded.receipt
    assert (receipt["recorded"], receipt["escapes"], receipt["passed_hosts"]) == (2, [], [])
    upstream.go_dark()

    # Without interception, what the client calls directly is past loomrec: so it was intercepted above.
    based = alone(recording, line("direct", DIRECT, "based"), NODE_USE_ENV_PROXY="1")
    answer, escaped = based.document["answers"]
    assert answer == said[1] and "failed" in escaped, based.stderr
    assert (based.code, based.receipt["served"], len(based.receipt["escapes"])) == (1, 1, 1), based.stderr

    direct = alone(recording, line(DIRECT, "based", "direct", "unknown", "refused"), INTERCEPT)
    *served, missed, refused = direct.document["answers"]
    assert served == said, direct.stderr
    receipt = direct.receipt
    assert (direct.code, receipt["served"], receipt["missed"], receipt["unused"]) == (1, 2, 1, 0), direct.stderr
    assert (receipt["escapes"], [it["host"] for it in receipt["refused_hosts"]]) == ([], ["gateway.example"])
    assert upstream.connections_in_the_dark == 0
    ways.assert_no_key_below(tmp_path, direct.stderr)
    client_table.check_row(name, recorded.document["version"] or SYSTEMS, "yes", "yes",
                           *(client_table.shown(answer["failed"]) for answer in (missed, refused)))


# Clients that use no proxy: their line, their version, and whether they go by a base URL.
ESCAPES = {
    "aiohttp": (["escapes.py", "aiohttp"], "aiohttp", NOTHING),
    "httpx, with trust_env=False": (["escapes.py", "httpx"], "httpx", NOTHING),
    "websockets below 15": (["escapes.py", "websockets"], "14.2", NOTHING),
    "openai, Node, Realtime": (["openai_realtime.mjs", DIRECT, "Be brief.", "hi"], "openai", "yes, by TLS"),
    "openai, Node, Responses by WebSocket": (["openai_responses_socket.mjs", DIRECT, "hi"], "openai", "yes"),
    "@google/genai, Node, Live": (["genai_live.mjs", DIRECT, "hi"], "@google/genai", "yes"),
    "Node's https, with an agent of its own": (["agent_around.mjs"], "Node 24", NOTHING),
    "openai, Node 20": (["clients.mjs", "openai", DIRECT, "hi"], "openai", "yes"),
    "java.net.http": (["clients.py", "java", DIRECT, "hi"], SYSTEMS, "yes"),
}


@pytest.fixture(scope="module")
def recording(tmp_path_factory):
    """A recording of a call to the host that these clients call."""
    folder, upstream = tmp_path_factory.mktemp("recorded"), Upstream()
    recorded = ways.Loomrec(os.environ["LOOMREC_BIN"], folder).record(
        folder / "recording.json", upstream.url, ways.command("clients.py", "curl", "hi"))
    upstream.close()
    assert recorded.receipt["recorded"] == 1, recorded.stderr
    return folder / "recording.json"


def version_of(program, package):
    if package[0].isdigit() or " " in package:
        return package
    if program.endswith(".py"):
        return importlib.metadata.version(package)
    manifest = ways.NODE_HOME / "node_modules" / package / "package.json"
    return json.loads(manifest.read_text(encoding="utf-8"))["version"]


@pytest.mark.parametrize("name", ESCAPES)
def test_client_that_ignores_the_proxy_gets_nothing_and_the_run_says_so(name, loomrec, recording, tmp_path):
    (program, *words), package, based = ESCAPES[name]
    counts = tmp_path / "counts.json"
    if (machine := resolved.machine(counts)) is None:
        pytest.skip("this system permits no namespaces of an own")
    if program.endswith(".py") and words[0] == "java" and shutil.which("java") is None:
        pytest.skip("java is not installed")
    older = {"PYTHONPATH": os.environ["LOOMREC_SDK_WEBSOCKETS"]} if name.startswith("websockets") else {}
    loomrec.machine = machine
    line = ways.command(program, *words, node=node_of(name))
    replayed = loomrec.replay(recording, line, INTERCEPT, **older)
    assert resolved.connections(counts) >= 1, f"it did not connect past loomrec: {replayed.stderr}"
    receipt = replayed.receipt
    assert (replayed.code, receipt["served"], receipt["missed"], receipt["verdict"]) == (1, 0, 0, "failed")
    assert "nothing was tested" in replayed.stderr
    client_table.check_row(name, version_of(program, package), based, PAST, NOTHING, NOTHING)


def test_client_that_sends_its_request_to_the_proxy_is_refused_and_named(loomrec, alone, recording):
    client = "axios-1.7"
    replayed = alone(recording, ways.command("clients.mjs", client, DIRECT, "hi", node=ways.node(24)), INTERCEPT)
    (answer,) = replayed.document["answers"]
    assert (answer["failed"]["class"], answer["failed"]["status"]) == ("AxiosError", 403), replayed.stderr
    receipt = replayed.receipt
    assert (replayed.code, receipt["served"], receipt["missed"], receipt["verdict"]) == (1, 0, 0, "failed")
    assert receipt["escapes"] == [{"host": "api.openai.com", "count": 1}], replayed.stderr
    based = alone(recording, ways.command("clients.mjs", client, "hi", node=ways.node(24)), INTERCEPT)
    assert (based.code, based.receipt["served"]) == (0, 1), based.stderr
    client_table.check_row(OLD_AXIOS, replayed.document["version"], "yes", ITSELF, NOTHING, NOTHING)


@pytest.mark.skipif("WRITE_TABLES" in os.environ, reason="it is being written")
def test_table_has_only_clients_that_are_tried():
    elsewhere = {"boto3", "@aws-sdk/client-bedrock-runtime, Node 24", "xai-sdk, by gRPC", OLD_AXIOS}
    assert set(client_table.rows()) == {*CLIENTS, *ESCAPES, *elsewhere}, client_table.HOW
