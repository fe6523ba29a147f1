// What the tests stand on: loomrec as a child, an upstream that says what it is told, a
// page in Chromium that must not do anything unasked.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export const root = fileURLToPath(new URL("../../", import.meta.url));
const installed = createRequire(join(root, ".cache/browser/package.json"));
export const { chromium } = installed("playwright-core");
export const axeSource = () => readFileSync(installed.resolve("axe-core/axe.min.js"), "utf8");

/** How long anything may take: a slow machine that does other things as well. */
export const LIMIT = 30000;

const undone = new WeakMap();

/** What is to be done when the test is over: the last comes first. */
export function atEnd(t, step) {
  if (!undone.has(t)) {
    undone.set(t, []);
    t.after(async () => {
      let failure = null;
      for (const step of undone.get(t).reverse()) await step().catch((error) => (failure ||= error));
      if (failure) throw failure;
    });
  }
  undone.get(t).push(async () => step());
}

/** A folder that goes when the test is over. */
export function folder(t) {
  const path = mkdtempSync(join(tmpdir(), "loomrec-browser-"));
  atEnd(t, () => rmSync(path, { recursive: true, force: true }));
  return path;
}

/** The environment without settings of loomrec, of telemetry and of proxies. */
export const outside = () => Object.fromEntries(Object.entries(process.env)
  .filter(([name]) => !/^(LOOMREC_|OTEL_|[A-Z_]*_proxy$)/i.test(name)));

/** Starts loomrec. Returns its `url`, and `stop()`, which returns its exit code. */
export const loomrec = (t, ...args) => loomrecIn(t, root, ...args);

/** The same in a folder. */
export async function loomrecIn(t, cwd, ...args) {
  const child = spawn(process.env.LOOMREC_BIN, args, { stdio: ["ignore", "ignore", "pipe"], env: outside(), cwd });
  const over = new Promise((done) => child.once("exit", (code) => done(code)));
  let said = "";
  const url = await new Promise((done, failed) => {
    const timer = setTimeout(() => failed(new Error(`loomrec said no address: ${said}`)), LIMIT);
    child.stderr.on("data", (data) => {
      said += data;
      const found = /http:\/\/127\.0\.0\.1:\d+/.exec(said);
      if (found) {
        clearTimeout(timer);
        done(found[0]);
      }
    });
    over.then((code) => failed(new Error(`loomrec ended with ${code}: ${said}`)));
  });
  const stop = async () => {
    // SIGTERM: SIGINT may be ignored where the tests run.
    child.kill("SIGTERM");
    const timer = setTimeout(() => child.kill("SIGKILL"), LIMIT);
    const code = await over;
    clearTimeout(timer);
    return code;
  };
  atEnd(t, stop);
  return { url, stop };
}

/** An upstream: `answer(body, response)` answers each request. Returns its address. */
export async function upstream(t, answer) {
  const server = createServer(async (request, response) => {
    const pieces = [];
    for await (const piece of request) pieces.push(piece);
    await answer(JSON.parse(Buffer.concat(pieces).toString() || "{}"), response);
  });
  await new Promise((done) => server.listen(0, "127.0.0.1", done));
  atEnd(t, () => {
    server.closeAllConnections();
    return new Promise((done) => server.close(done));
  });
  return `http://127.0.0.1:${server.address().port}`;
}

/** Answers as Chat Completions do, with this text. */
export function reply(response, content, more = {}) {
  response.writeHead(200, { "content-type": "application/json", "x-served-by": "test" });
  response.end(JSON.stringify({
    id: "chatcmpl-1", object: "chat.completion", created: 1, model: "gpt-4o-mini-2024-07-18",
    choices: [{ index: 0, message: { role: "assistant", content, ...more }, finish_reason: "stop" }],
    usage: { prompt_tokens: 12, completion_tokens: 34, total_tokens: 46 },
  }));
}

/** The same as a stream of these words; `pauses[n]` is what passes before the nth, in ms. */
export async function streamed(response, words, pauses = []) {
  response.writeHead(200, { "content-type": "text/event-stream" });
  const event = (delta, finish) => "data: " + JSON.stringify({
    id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, model: "gpt-4o-mini-2024-07-18",
    choices: [{ index: 0, delta, finish_reason: finish }],
  }) + "\n\n";
  for (const [place, content] of words.entries()) {
    await new Promise((done) => setTimeout(done, pauses[place] || 15));
    response.write(event({ content }, null));
  }
  response.write(event({}, "stop"));
  response.end("data: [DONE]\n\n");
}

/** Asks loomrec as a program does. */
export async function chat(url, content, more = {}) {
  const { path = "/openai/v1/chat/completions", headers = {}, ...rest } = more;
  const response = await fetch(url + path, {
    method: "POST", headers: { "content-type": "application/json", authorization: "Bearer sk-test", ...headers },
    body: JSON.stringify({ model: "gpt-4o-mini", messages: [{ role: "user", content }], ...rest }),
    signal: AbortSignal.timeout(LIMIT),
  });
  return { status: response.status, text: await response.text() };
}

let browser = null;

/** How Chromium is started: it makes no connection unasked. */
export const LAUNCH = {
  executablePath: process.env.LOOMREC_CHROMIUM || "/usr/bin/chromium", timeout: 2 * LIMIT,
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-dev-shm-usage",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    // That switch does not stop its first look for components.
    "--component-updater=url-source=https://127.0.0.1:9"],
  handleSIGINT: false, handleSIGTERM: false, handleSIGHUP: false,
};

async function launched() {
  browser ||= await chromium.launch(LAUNCH);
  return browser;
}

export async function closeBrowser() {
  if (browser) await browser.close();
}

/**
 * A page that shows the inspector. When the test is over it must have asked nobody but
 * loomrec, opened no dialog, broken no rule of its policy and said nothing on its console;
 * `expected` are words of what it may say.
 */
export async function open(t, url, { fragment = "", expected = null, ...options } = {}) {
  const context = await (await launched()).newContext({
    viewport: { width: 1280, height: 800 }, permissions: ["clipboard-read", "clipboard-write"], ...options,
  });
  const page = await context.newPage();
  page.setDefaultTimeout(LIMIT);
  const wrong = [];
  const note = (text) => (expected && expected.test(text) ? null : wrong.push(text));
  page.on("console", (message) => note(`console ${message.type()}: ${message.text()}`));
  page.on("pageerror", (error) => note(`error: ${error.stack}`));
  page.on("dialog", (dialog) => {
    note(`dialog: ${dialog.message()}`);
    return dialog.dismiss();
  });
  page.on("popup", () => note("popup"));
  page.on("request", (request) => {
    const asked = request.url();
    if (!asked.startsWith(url + "/__loomrec/") && !asked.startsWith("data:image/svg+xml")) note(`request: ${asked}`);
  });
  await page.addInitScript(() => {
    window.violations = [];
    document.addEventListener("securitypolicyviolation", (event) => window.violations.push(event.violatedDirective));
  });
  atEnd(t, async () => {
    const violations = await page.evaluate(() => window.violations).catch(() => []);
    await context.close();
    assert.deepEqual(wrong, [], "the page did something unasked");
    assert.deepEqual(violations, [], "the page broke its own policy");
  });
  await page.goto(url + "/__loomrec/" + fragment);
  return page;
}

/** The row of a call. */
export const row = (page, seq) => page.locator(`#call-${seq}`);

/** What the page says of how many calls it shows. */
export const shown = (page, text) => page.locator("#shown", { hasText: text }).waitFor();

/** Waits until the details are those of the call that is selected. */
export const loaded = (page) => page.locator("#detail[aria-busy=false]").waitFor();

/** Opens a tab and waits for it. */
export async function tab(page, name) {
  await loaded(page);
  await page.locator(`#tab-${name}`).click();
  await page.locator(`#panel.p-${name}`).waitFor();
}

/** A line of a journal. */
export function line(seq, more = {}) {
  return JSON.stringify({
    v: 1, seq, at: new Date(1767225600000 + seq * 1000).toISOString(), outcome: "served", status: 200, mode: "replay",
    source: "recording", method: "POST", path: "/v1/chat/completions", upstream: "openai", provider: "openai",
    operation: "Chat Completions", model: "gpt-4o-mini", streamed: false, session: null, step_id: null,
    key: String(seq % 10).repeat(64), matched_by: "request_hash", entry: String(seq % 10).repeat(64), take: 1,
    head_ms: 0.4, first_byte_ms: 0.5, total_ms: 100 + (seq % 70), waited_ms: 0, bytes: 300, chunks: 1, end: "complete",
    input_tokens: 10, output_tokens: 5, cost_usd: 0.001, answered_by: null, kept: null, attempt: null, fault: null,
    mismatch: null, more: null, ...more,
  });
}

/** An entry of a recording: `at` ms after the first, with these messages and this answer's body. */
export function entry({ at = null, ms = 100, content, messages, body = null, session = undefined }) {
  entry.last = at === null ? (entry.last || 0) + 1000 : at;
  return {
    upstream: "openai", model: "gpt-4o-mini", content, session, latency_ms: ms,
    recorded_at: new Date(1767225600000 + entry.last).toISOString().replace("Z", "000Z"),
    request: { method: "POST", path: "/v1/chat/completions", headers: { "content-type": "application/json" }, body: { model: "gpt-4o-mini", messages } },
    response: { status: 200, headers: { "content-type": "application/json" }, end: "complete",
      body: body || { choices: [{ index: 0, finish_reason: "stop", message: { role: "assistant", content } }] } },
  };
}

/** A recording of these entries, by their step ids. Returns its path. */
export function recordingOf(t, entries) {
  const path = join(folder(t), "run.json");
  writeFileSync(path, JSON.stringify({ _version: 2, ...entries }));
  return path;
}
