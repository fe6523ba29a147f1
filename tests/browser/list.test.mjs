// The list: filters, the address, the keyboard; many calls; names for everything.

import assert from "node:assert/strict";
import { appendFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { axeSource, chat, closeBrowser, folder, line, loaded, loomrec, open, reply, root, row, shown, tab, upstream } from "./support.mjs";

after(closeBrowser);

const MODELS = { openai: "gpt-4o-mini", anthropic: "claude-sonnet-4-20250514", gemini: "gemini-2.5-flash" };

/** A journal of so many calls: three providers in turn, each tenth is missed. */
async function journal(t, calls) {
  const lines = [];
  for (let seq = 1; seq <= calls; seq += 1) {
    const provider = Object.keys(MODELS)[seq % 3];
    const missed = { outcome: "missed", status: 422, source: null, mismatch: { reason: "drifted", message: `drifted number ${seq}`, nearest: null } };
    lines.push(line(seq, { provider, upstream: provider, model: MODELS[provider],
      step_id: seq % 7 === 0 ? `step ${seq}` : null, ...(seq % 10 === 0 ? missed : {}) }));
  }
  const file = join(folder(t), "run.jsonl");
  writeFileSync(file, lines.join("\n") + "\n");
  return { file, ...(await loomrec(t, "ui", file)) };
}

const hash = (page) => page.evaluate(() => Object.fromEntries(new URLSearchParams(location.hash.slice(1))));
const chosen = (page) => page.locator(".row.selected .c-seq").innerText();

test("filters narrow the list and stand in the address", async (t) => {
  const { url } = await journal(t, 300);
  const page = await open(t, url);
  await shown(page, "300 calls");
  await page.locator("#f-provider").selectOption("anthropic");
  await shown(page, "100 of 300");
  await page.locator("#f-failed").click();
  await shown(page, "10 of 300");
  assert.deepEqual(await hash(page), { provider: "anthropic", failed: "1" });
  assert.equal(await page.locator("#sum-failed").innerText(), "10");
  await page.locator("#q").fill("DRIFTED 220");
  await shown(page, "1 of 300");
  await page.reload();
  await shown(page, "1 of 300");
  assert.equal(await page.locator("#q").inputValue(), "DRIFTED 220");
  assert.equal(await page.locator("#f-failed").getAttribute("aria-pressed"), "true");
  await row(page, 220).waitFor();
  await page.locator("#q").fill("no such thing");
  await page.locator("#empty", { hasText: "No call matches" }).waitFor();
  await page.locator("#f-clear").click();
  await shown(page, "300 calls");
  assert.deepEqual(await hash(page), {});
  await page.locator("#f-status").selectOption("4xx");
  await shown(page, "30 of 300");
  await page.locator("#f-source").selectOption("nowhere");
  await shown(page, "30 of 300");
  await page.locator("#f-source").selectOption("recording");
  await shown(page, "0 of 300");
  // An address that is pasted.
  await page.evaluate(() => (location.hash = "#model=gemini-2.5-flash&q=step&call=14&tab=line"));
  await shown(page, "14 of 300");
  await page.locator("#panel.p-line").waitFor();
  assert.equal(await chosen(page), "14");
});

test("the keyboard does it all", async (t) => {
  const { url } = await journal(t, 300);
  const page = await open(t, url);
  await shown(page, "300 calls");
  const press = async (...keys) => {
    for (const key of keys) await page.keyboard.press(key);
  };
  await press("j", "j", "j", "k");
  assert.equal(await chosen(page), "2");
  await press("G");
  assert.equal(await chosen(page), "300");
  await press("g", "ArrowDown", "ArrowDown");
  assert.equal(await chosen(page), "3");
  await press("PageDown");
  assert.ok(Number(await chosen(page)) > 15);
  await press("f");
  await shown(page, "30 of 300");
  await press("g");
  await loaded(page);
  await page.locator("#panel.p-mismatch").waitFor();
  await press("Enter");
  assert.equal(await page.evaluate(() => document.activeElement.id), "panel");
  await press("2");
  await page.locator("#panel.p-line .why", { hasText: "No request and no answer" }).waitFor();
  await press("1");
  await page.locator("#panel.p-mismatch").waitFor();
  await press("c");
  assert.equal(await page.evaluate(() => navigator.clipboard.readText()), "drifted number 10");
  await press("Escape");
  assert.equal(await page.evaluate(() => document.activeElement.id), "list");
  await press("Escape");
  await page.locator("#detail").waitFor({ state: "hidden" });
  await press("/");
  await page.keyboard.type("fgj?220");
  assert.equal(await page.locator("#q").inputValue(), "fgj?220");
  await press("Escape");
  assert.equal(await page.locator("#q").inputValue(), "");
  await press("?");
  await page.locator("#help[open]").waitFor();
  await press("j", "Escape");
  await page.locator("#help[open]").waitFor({ state: "hidden" });
  await press("x");
  await shown(page, "300 calls");
  const theme = () => page.evaluate(() => document.documentElement.dataset.theme);
  await press("t", "t");
  assert.equal(await theme(), "dark");
  await page.reload();
  await shown(page, "300 calls");
  assert.equal(await theme(), "dark");
  // The divider too.
  await press("j");
  await page.locator("#divider").focus();
  const width = async () => (await page.locator("#detail").boundingBox()).width;
  const before = await width();
  await press("ArrowLeft", "ArrowLeft");
  assert.ok((await width()) > before);
});

test("ten thousand calls leave the document small", async (t) => {
  const { url, file } = await journal(t, 10000);
  const page = await open(t, url);
  await page.evaluate(() => {
    window.long = 0;
    new PerformanceObserver((seen) => (window.long += seen.getEntries().length)).observe({ type: "longtask", buffered: true });
  });
  await shown(page, "10,000 calls");
  const nodes = () => page.evaluate(() => document.querySelectorAll("*").length);
  const rows = () => page.locator("#rows .row").count();
  assert.ok((await rows()) < 60 && (await nodes()) < 1400, `${await rows()} rows, ${await nodes()} nodes`);
  await page.keyboard.press("G");
  await row(page, 10000).waitFor();
  for (const part of [0.1, 0.5, 0.9, 0.33]) {
    await page.locator("#list").evaluate((list, part) => (list.scrollTop = list.scrollHeight * part), part);
    await row(page, Math.floor(10000 * part) + 5).waitFor();
    assert.ok((await rows()) < 60);
  }
  await page.locator("#q").fill("drifted");
  await shown(page, "1,000 of 10,000");
  await page.locator("#q").fill("drifted number 5000");
  await shown(page, "1 of 10,000");
  await page.locator("#q").fill("");
  await shown(page, "10,000 calls");
  // The file grows: so does the list.
  appendFileSync(file, line(10001, { step_id: "the new one" }) + "\n");
  await shown(page, "10,001 calls");
  assert.ok((await nodes()) < 1600, `${await nodes()} nodes`);
  t.diagnostic(`tasks over 50 ms: ${await page.evaluate(() => window.long)}`);
});

test("everything has a name and enough contrast, in light and dark", async (t) => {
  const recording = join(folder(t), "r.json");
  const at = await upstream(t, (body, response) => reply(response, "Yes.", { reasoning_content: "Hm." }));
  const recorder = await loomrec(t, "record", "-r", recording, "--listen", "127.0.0.1:0", "--upstream", `openai=${at}`);
  await chat(recorder.url, "One?");
  await recorder.stop();
  const run = await loomrec(t, "replay", "-r", recording, "--listen", "127.0.0.1:0");
  await chat(run.url, "Two?");
  await chat(run.url, "One?");
  const demo = await loomrec(t, "ui", join(root, "recordings/demo.json"));
  const source = axeSource();
  for (const colorScheme of ["light", "dark"]) {
    const check = async (page, what) => {
      await page.evaluate(source);
      const found = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
      const wrong = found.violations.map((one) => `${one.id}: ${one.nodes.map((node) => `${node.target} ${node.failureSummary}`).join("; ")}`);
      assert.deepEqual(wrong, [], `${what}, ${colorScheme}`);
    };
    const page = await open(t, run.url, { colorScheme, reducedMotion: "reduce" });
    await shown(page, "2 calls");
    await check(page, "list");
    for (const [seq, names] of [[1, ["mismatch", "conversation", "raw", "line"]], [2, ["conversation", "raw"]]]) {
      await row(page, seq).click();
      for (const name of names) {
        await tab(page, name);
        await check(page, `${name} of ${seq}`);
      }
    }
    await page.keyboard.press("?");
    await check(page, "help");
    const other = await open(t, demo.url, { colorScheme, fragment: "#call=3&tab=stream" });
    await other.locator("#panel.p-stream .chart svg").waitFor();
    await check(other, "stream");
  }
});
