// Pages that call providers themselves: recorded and replayed through the run's proxy.

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync, readdirSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { atEnd, folder, LIMIT, outside, reply, streamed } from "./support.mjs";

const here = (name) => fileURLToPath(new URL(name, import.meta.url));
const WORDS = ["You ", "said ", "“hi” 🙂"];

/** A server on this machine. Returns its address, and what stops it. */
async function served(t, answer) {
  const server = createServer(answer);
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  const stop = () => {
    server.closeAllConnections();
    return new Promise((done) => server.close(done));
  };
  atEnd(t, stop);
  return { url: `http://127.0.0.1:${server.address().port}`, stop };
}

/** The page's own server, of another origin than the providers. */
const pages = (t) => served(t, (_, response) => {
  response.writeHead(200, { "content-type": "text/html" });
  response.end(readFileSync(here("page.html")));
});

/** A provider that permits another page alone to read. Returns its address, and the requests that it got. */
async function provider(t) {
  const requests = [];
  const headers = {
    "access-control-allow-origin": "https://other.example", "access-control-expose-headers": "x-other",
    "x-request-id": "req_1", "content-type": "application/json",
  };
  const server = await served(t, async (request, response) => {
    const pieces = [];
    for await (const piece of request) pieces.push(piece);
    const body = JSON.parse(Buffer.concat(pieces).toString() || "{}");
    requests.push({ method: request.method, path: request.url, headers: request.headers, body });
    for (const [name, value] of Object.entries(headers)) response.setHeader(name, value);
    if (body.stream) return streamed(response, WORDS);
    if (request.url === "/v1/messages") {
      return response.end(JSON.stringify({
        id: "msg_1", type: "message", role: "assistant", model: "claude-haiku-4-5", stop_reason: "end_turn",
        stop_sequence: null, content: [{ type: "text", text: WORDS.join("") }], usage: { input_tokens: 9, output_tokens: 9 },
      }));
    }
    return reply(response, WORDS.join(""));
  });
  return { ...server, requests };
}

/** A run of Chromium with the page in it. */
function run(cwd, verb, flags, trust, page) {
  const line = [verb, "--intercept", "-r", "run.json", "--receipt", "receipt.json", ...flags, "--",
    process.execPath, here("open_page.mjs"), trust, page];
  return new Promise((done) => {
    const options = { cwd, env: outside(), timeout: 3 * LIMIT };
    execFile(process.env.LOOMREC_BIN, line, options, (error, stdout, stderr) => {
      const receipt = JSON.parse(readFileSync(join(cwd, "receipt.json"), "utf8"));
      done({ code: error ? error.code : 0, seen: stdout && JSON.parse(stdout), stderr, receipt });
    });
  });
}

const upstreams = ({ url }) => ["openai", "anthropic"].map((name) => `--upstream=${name}=${url}`);
const counts = ({ served, missed, unused, recorded, escapes, upstream_connections: connections }) => (
  { served, missed, unused, recorded, escapes, connections });

for (const [trust, how] of [["nss", "trusts the authority"], ["switch", "ignores certificates"]]) {
  test(`page in a browser that ${how} is recorded and replayed strictly`, async (t) => {
    const [cwd, page, upstream] = [folder(t), await pages(t), await provider(t)];
    const allowed = `--allow-origin=${page.url}`;
    const recorded = await run(cwd, "record", [allowed, ...upstreams(upstream)], trust, `${page.url}/#hi`);
    assert.equal(recorded.code, 0, recorded.stderr);
    assert.equal(counts(recorded.receipt).recorded, 3, recorded.stderr);
    const [complete, stream, message] = recorded.seen;
    for (const answer of recorded.seen) {
      assert.deepEqual({ ...answer, text: "" }, { status: 200, type: "cors", request: "req_1", text: "" });
    }
    assert.equal(JSON.parse(complete.text).choices[0].message.content, WORDS.join(""));
    assert.match(stream.text, /“hi” 🙂.*data: \[DONE\]\n\n$/s);
    assert.equal(JSON.parse(message.text).content[0].text, WORDS.join(""));
    // The preflights end at loomrec; keys and the origin go upstream.
    assert.deepEqual(upstream.requests.map(({ method, path }) => `${method} ${path}`).sort(),
      ["POST /v1/chat/completions", "POST /v1/chat/completions", "POST /v1/messages"]);
    const keys = upstream.requests.map(({ headers }) => headers.authorization ?? headers["x-api-key"]);
    assert.ok(keys.every((key) => key.includes("CanaryOfThePage")), keys);
    for (const { name } of readdirSync(cwd, { withFileTypes: true }).filter((it) => it.isFile())) {
      assert.ok(!readFileSync(join(cwd, name), "utf8").includes("CanaryOfThePage"), name);
    }
    await upstream.stop();

    const replayed = await run(cwd, "replay", ["--strict", "--fail-unused", allowed], trust, `${page.url}/#hi`);
    assert.equal(replayed.code, 0, replayed.stderr);
    assert.deepEqual(counts(replayed.receipt),
      { served: 3, missed: 0, unused: 0, recorded: 0, escapes: [], connections: 0 }, replayed.stderr);
    assert.deepEqual(replayed.seen, recorded.seen);

    // A page can read a miss as well.
    const missed = await run(cwd, "replay", ["--strict", allowed], trust, `${page.url}/#other`);
    assert.equal(missed.code, 1, missed.stderr);
    assert.equal(counts(missed.receipt).missed, 3, missed.stderr);
    for (const answer of missed.seen) {
      assert.equal(answer.status, 422);
      assert.match(answer.text, /RecordingMismatchError/);
    }

    // Of an origin that nobody has named, it reads nothing, and the run says which flag is missing.
    const foreign = await run(cwd, "replay", ["--strict"], trust, `${page.url}/#hi`);
    assert.deepEqual(foreign.seen, Array(3).fill({ failed: "TypeError" }));
    assert.equal(foreign.code, 1, foreign.stderr);
    assert.equal(counts(foreign.receipt).served, 0);
    assert.ok(foreign.stderr.includes(`--allow-origin ${page.url}`), foreign.stderr);
  });
}

test("page in a browser that does not know the authority makes no call, and the run says why", async (t) => {
  const [cwd, page, upstream] = [folder(t), await pages(t), await provider(t)];
  const flags = [`--allow-origin=${page.url}`, ...upstreams(upstream)];
  const known = await run(cwd, "record", flags, "nss", `${page.url}/#hi`);
  assert.equal(known.code, 0, known.stderr);
  const strange = await run(cwd, "replay", ["--strict", flags[0]], "strange", `${page.url}/#hi`);
  assert.equal(strange.code, 1, strange.stderr);
  assert.deepEqual(strange.seen, Array(3).fill({ failed: "TypeError" }));
  const hosts = strange.receipt.failed_tunnels.map(({ host }) => host).sort();
  assert.deepEqual(hosts, ["api.anthropic.com", "api.openai.com"], strange.stderr);
  assert.match(strange.stderr, /does not accept loomrec's certificate/);
  assert.equal(counts(strange.receipt).served, 0);
});

test("Playwright's ignoreHTTPSErrors fails a replay by the connections that it gives up, not by its calls", async (t) => {
  const [cwd, page, upstream] = [folder(t), await pages(t), await provider(t)];
  const allowed = `--allow-origin=${page.url}`;
  const recorded = await run(cwd, "record", [allowed, ...upstreams(upstream)], "context", `${page.url}/#hi`);
  assert.equal(recorded.code, 0, recorded.stderr);
  const replayed = await run(cwd, "replay", ["--strict", "--fail-unused", allowed], "context", `${page.url}/#hi`);
  assert.deepEqual(replayed.seen, recorded.seen);
  assert.equal(counts(replayed.receipt).served, 3);
  assert.equal(replayed.receipt.failed_tunnels.length, 2, replayed.stderr);
  assert.equal(replayed.code, 1, replayed.stderr);
});
