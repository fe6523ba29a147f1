// Search in all text of the calls, what the totals say of it, and what leaves the page: a file, a
// command.

import assert from "node:assert/strict";
import { execFile, execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { after, test } from "node:test";
import { promisify } from "node:util";
import { chat, closeBrowser, entry, folder, loaded, loomrec, open, recordingOf, reply, row, shown, tab, upstream } from "./support.mjs";

after(closeBrowser);

const numbers = (page) => page.locator("#rows .row .c-seq").allInnerTexts();

/** Calls that each hold one word somewhere else. */
function words() {
  const call = (name, content, more = {}) => {
    const body = { choices: [{ index: 0, finish_reason: "stop", message: { role: "assistant", content, ...more } }] };
    return entry({ content, messages: [{ role: "user", content: `Question ${name}` }], body });
  };
  const delta = (content) => `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }] })}\n\n`;
  return {
    first: call("one", "Take an UMBRELLA to São Paulo."),
    second: call("two", null, { tool_calls: [{ id: "c", type: "function",
      function: { name: "get_weather", arguments: "{\"city\":\"S\\u00e3o Paulo\"}" } }] }),
    third: { ...call("three", ""), response: { status: 429, headers: { "content-type": "application/json" }, end: "complete",
      body: { error: { message: "Slow down, please", type: "requests" } } } },
    fourth: { ...call("four", "unhurried"), response: { status: 200, headers: { "content-type": "text/event-stream" }, end: "complete",
      chunks: [[1, delta("unhur")], [2, delta("ried")], [3, "data: [DONE]\n\n"]] } },
    fifth: { ...call("five", ""), response: { status: 101, headers: {}, end: "complete" },
      messages: [{ from: "client", ms: 1, body: { say: "xylophone" } }] },
  };
}

test("words are found in questions, answers, tool calls and errors", async (t) => {
  const { url } = await loomrec(t, "ui", recordingOf(t, words()));
  const page = await open(t, url);
  await shown(page, "5 calls");
  for (const [q, found] of [["umbrella", ["1"]], ["são", ["1", "2"]], ["GET_WEATHER paulo", ["2"]], ["slow down", ["3"]],
    ["unhurried", ["4"]], ["question four", ["4"]], ["xylophone", ["5"]], ["umbrella weather", []]]) {
    await page.locator("#q").fill(q);
    await shown(page, `${found.length} of 5`);
    await page.waitForFunction(() => !/searched/.test(document.getElementById("shown").textContent));
    assert.deepEqual((await numbers(page)).filter(Boolean).sort(), found, q);
  }
  // The address keeps it.
  await page.locator("#q").fill("umbrella");
  await shown(page, "1 of 5");
  await page.reload();
  await shown(page, "1 of 5");
  assert.equal(await page.locator("#q").inputValue(), "umbrella");
});

test("calls that come are searched, and those of a replay", async (t) => {
  const recording = join(folder(t), "r.json");
  const at = await upstream(t, (body, response) => reply(response, /2/.test(body.messages[0].content) ? "An umbrella." : "A coat."));
  const run = await loomrec(t, "record", "-r", recording, "--listen", "127.0.0.1:0", "--upstream", `openai=${at}`);
  const page = await open(t, run.url);
  await page.locator("#q").fill("umbrella");
  for (const day of [1, 2, 3]) await chat(run.url, `Day ${day}?`);
  await shown(page, "1 of 3");
  await row(page, 2).waitFor();
  await page.close();
  await run.stop();
  const replay = await loomrec(t, "replay", "-r", recording, "--listen", "127.0.0.1:0");
  for (const day of [2, 1, 4]) await chat(replay.url, `Day ${day}?`);
  const other = await open(t, replay.url, { fragment: "#q=umbrella" });
  await shown(other, "1 of 3");
  await row(other, 1).waitFor();
  // Of a missed call the request is kept.
  await other.locator("#q").fill("day 4?");
  await shown(other, "1 of 3");
  await row(other, 3).waitFor();
});

test("ten thousand calls are searched a part at a time", { timeout: 240000 }, async (t) => {
  const entries = {};
  for (let place = 1; place <= 10000; place += 1) {
    const content = place % 1000 ? "A coat." : "An umbrella.";
    entries[`step ${String(place).padStart(5, "0")}`] = entry({ content, at: place * 10, messages: [{ role: "user", content: `Day ${place}?` }],
      body: { choices: [{ index: 0, message: { role: "assistant", content } }] } });
  }
  const { url } = await loomrec(t, "ui", recordingOf(t, entries));
  const page = await open(t, url);
  await shown(page, "10,000 calls");
  const asked = [];
  page.on("response", async (response) => {
    if (/search/.test(response.url())) asked.push(await response.json().catch(() => ({})));
  });
  await page.locator("#q").fill("umbrella");
  await page.waitForFunction(() => document.getElementById("shown").textContent === "10 of 10,000", null, { timeout: 120000 });
  assert.ok(asked.length >= 5, `${asked.length} answers`);
  const rows = await page.locator("#rows .row").count();
  assert.equal(rows, 10);
});

test("totals are those of what is shown, and costs are written as ls writes them", async (t) => {
  const costs = { alfa: 0.0000004, bravo: 0.000035, charlie: 0.0231, delta: 1.5, echo: 2e-13, foxtrot: 0.00000123, golf: 12.345 };
  const entries = {};
  for (const [name, cost_usd] of Object.entries(costs)) {
    entries[`cost ${name}`] = { ...entry({ content: `cost ${name}`, messages: [{ role: "user", content: name }] }), cost_usd,
      usage: { prompt_tokens: 10, completion_tokens: 2, total_tokens: 12 } };
  }
  entries["cost unknown"] = { ...entry({ content: "?", messages: [] }), model: "mystery-9", usage: { prompt_tokens: 5, completion_tokens: 1, total_tokens: 6 } };
  const file = recordingOf(t, entries);
  const { url } = await loomrec(t, "ui", file);
  const page = await open(t, url);
  await shown(page, "8 calls");
  const listed = execFileSync(process.env.LOOMREC_BIN, ["ls", file], { encoding: "utf8" });
  const ofList = new Map([...listed.matchAll(/(cost \w+) .*?(\$[\d.e-]+|unknown)/g)].map(([, name, cost]) => [name, cost]));
  assert.equal(ofList.get("cost alfa"), "$0.0000004", listed);
  const ofPage = await page.locator("#rows .row").evaluateAll((rows) => rows.map((one) =>
    [one.querySelector(".c-call").innerText.split(" · ")[0].trim(), one.querySelector(".c-cost").innerText]));
  assert.deepEqual(new Map(ofPage), ofList);
  const sum = () => page.locator("#sum-cost").innerText();
  assert.equal(await sum(), /≥ \$[\d.]+/.exec(listed)[0]);
  await page.locator("#q").fill("alfa");
  await shown(page, "1 of 8");
  assert.match(await sum(), /^\$0\.0000004/);
  assert.equal((await page.locator("#sum-in").innerText()).replace("*", ""), "10");
  await page.locator("#q").fill("mystery");
  await shown(page, "1 of 8");
  assert.match(await sum(), /^unknown/);
});

test("what is shown is exported, and opens again", async (t) => {
  const file = recordingOf(t, words());
  const { url } = await loomrec(t, "ui", file);
  const page = await open(t, url);
  await page.locator("#q").fill("são");
  await shown(page, "2 of 5");
  const [download] = await Promise.all([page.waitForEvent("download"), page.locator("#export").click()]);
  assert.equal(download.suggestedFilename(), "run-calls.jsonl");
  const path = join(folder(t), "calls.jsonl");
  await download.saveAs(path);
  const lines = readFileSync(path, "utf8").trim().split("\n").map((line) => JSON.parse(line));
  assert.deepEqual(lines.map((line) => [line.seq, line.step_id]), [[1, "first"], [2, "second"]]);
  const again = await loomrec(t, "ui", path, "-r", file);
  const other = await open(t, again.url);
  await shown(other, "2 calls");
  await row(other, 2).click();
  await tab(other, "conversation");
  assert.match(await other.locator("#panel").innerText(), /get_weather/);
});

test("a call is copied as curl, and a shell sends the very bytes", async (t) => {
  const got = [];
  const server = createServer(async (request, response) => {
    const pieces = [];
    for await (const piece of request) pieces.push(piece);
    got.push({ url: request.url, headers: request.headers, body: Buffer.concat(pieces).toString() });
    reply(response, "Yes.");
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  t.after(() => (server.closeAllConnections(), server.close()));
  const run = await loomrec(t, "record", "-r", join(folder(t), "r.json"), "--listen", "127.0.0.1:0",
    "--upstream", `openai=http://127.0.0.1:${server.address().port}`);
  const question = "It's $(touch /tmp/x) `y` \"z\" \\ é\u202e\n<b>!</b>";
  await chat(run.url, question, { path: "/openai/v1/chat/completions?a=[1]&b=x%20y" });
  const page = await open(t, run.url, { fragment: "#call=1" });
  await loaded(page);
  await tab(page, "raw");
  await page.locator("button", { hasText: "Copy as curl" }).click();
  await page.locator("#said", { hasText: "Copied" }).waitFor({ state: "attached" });
  const command = await page.evaluate(() => navigator.clipboard.readText());
  assert.match(command, /"authorization: Bearer \$\{UPSTREAM_API_KEY\}"/);
  assert.doesNotMatch(command, /sk-test/);
  await promisify(execFile)("sh", ["-c", command], { env: { ...process.env, UPSTREAM_API_KEY: "key of the test" } });
  const [first, second] = got;
  assert.equal(second.body, first.body);
  assert.equal(second.url, first.url);
  assert.equal(second.headers.authorization, "Bearer key of the test");
  assert.equal(second.headers["content-type"], first.headers["content-type"]);
});
