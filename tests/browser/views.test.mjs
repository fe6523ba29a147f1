// The views of the list: sorted, as a waterfall, as conversations; two calls compared; chunks.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { writeFileSync } from "node:fs";
import { after, test } from "node:test";
import { axeSource, closeBrowser, entry, folder, line, loaded, loomrec, open, recordingOf, row, shown, tab } from "./support.mjs";

after(closeBrowser);

/** The numbers of the rows in the order in which they stand. */
const inOrder = (page) => page.locator("#rows .row").evaluateAll((rows) => rows
  .sort((a, b) => a.getBoundingClientRect().top - b.getBoundingClientRect().top).map((one) => Number(one.querySelector(".c-seq").innerText)));

async function waitForOrder(page, expected) {
  const until = Date.now() + 20000;
  let found;
  do found = await inOrder(page);
  while (JSON.stringify(found) !== JSON.stringify(expected) && Date.now() < until && (await page.waitForTimeout(50)) === undefined);
  assert.deepEqual(found, expected);
}

function journal(t, lines) {
  const file = join(folder(t), "run.jsonl");
  writeFileSync(file, lines.map((more, place) => line(place + 1, more)).join("\n") + "\n");
  return loomrec(t, "ui", file);
}

const CALLS = [
  { total_ms: 300, cost_usd: 0.2, model: "b", input_tokens: 5, status: 200 },
  { total_ms: null, cost_usd: null, model: null, input_tokens: null, output_tokens: null, status: 500 },
  { total_ms: 100, cost_usd: 0.3, model: "a10", input_tokens: 500, status: 200 },
  { total_ms: 200, cost_usd: 0.1, model: "a9", input_tokens: 50, status: 404 },
];

test("every column sorts, in both directions, and what is unknown comes last", async (t) => {
  const { url } = await journal(t, CALLS);
  const page = await open(t, url);
  await shown(page, "4 calls");
  const click = (name) => page.locator(`#head-${name} button`).click();
  for (const [name, first, second] of [["total", [1, 4, 3, 2], [3, 4, 1, 2]], ["cost", [3, 1, 4, 2], [4, 1, 3, 2]],
    ["model", [4, 3, 1, 2], [1, 3, 4, 2]], ["tokens", [3, 4, 1, 2], [1, 4, 3, 2]], ["status", [1, 3, 4, 2], [2, 4, 1, 3]], ["seq", [1, 2, 3, 4], [4, 3, 2, 1]]]) {
    await click(name);
    await waitForOrder(page, first);
    assert.match(await page.locator(`#head-${name}`).getAttribute("aria-sort"), /^(a|de)scending$/);
    await click(name);
    await waitForOrder(page, second);
    await click(name);
    await waitForOrder(page, [1, 2, 3, 4]);
    assert.equal(await page.locator(`#head-${name}`).getAttribute("aria-sort"), null);
  }
  // By the keyboard, with the address; and by the choice beside the views.
  await page.locator("#head-cost button").focus();
  await page.keyboard.press("Enter");
  await waitForOrder(page, [3, 1, 4, 2]);
  await page.reload();
  await shown(page, "4 calls");
  await waitForOrder(page, [3, 1, 4, 2]);
  await page.keyboard.press("j");
  assert.equal(await page.locator(".row.selected .c-seq").innerText(), "3");
  await page.locator("#sort").selectOption("total");
  await waitForOrder(page, [1, 4, 3, 2]);
  await page.locator("#sort-turn").click();
  await waitForOrder(page, [3, 4, 1, 2]);
});

test("a waterfall says when calls began and how long they took", async (t) => {
  const at = (ms) => ({ at: new Date(1767225600000 + ms).toISOString() });
  // A line is written when its call is over.
  const { url } = await journal(t, [{ ...at(500), total_ms: 500, first_byte_ms: 250 }, { ...at(0), total_ms: 2000 },
    { ...at(400), total_ms: 1600 }, { ...at(2000), total_ms: 2000 }]);
  const page = await open(t, url, { fragment: "#view=waterfall" });
  await shown(page, "4 calls");
  await waitForOrder(page, [2, 3, 1, 4]);
  const bars = await page.locator("#rows .fall-bar").evaluateAll((all) => Object.fromEntries(all.map((bar) => {
    const [own, cell] = [bar.getBoundingClientRect(), bar.parentElement.getBoundingClientRect()];
    return [bar.closest(".row").id, [(own.left - cell.left) / cell.width, own.width / cell.width].map((part) => Math.round(part * 200) / 200)];
  })));
  assert.deepEqual(bars, { "call-2": [0, 0.5], "call-3": [0.1, 0.4], "call-1": [0.125, 0.125], "call-4": [0.5, 0.5] });
  const said = await page.locator("#rows .fall-text").allInnerTexts();
  assert.deepEqual(said.sort(), ["+0 · 2.00 s", "+2.00 s · 2.00 s", "+400 ms · 1.60 s", "+500 ms · 500 ms"]);
  assert.equal(await page.locator(".fall-tick").first().innerText(), "0");
  // The list again.
  await page.keyboard.press("v");
  await page.keyboard.press("v");
  await waitForOrder(page, [1, 2, 3, 4]);
});

/** A conversation that branches, and another one. */
function talks() {
  const said = (...texts) => texts.map((content, place) => ({ role: place % 2 ? "assistant" : "user", content }));
  const call = (at, ...texts) => entry({ at, content: "so", messages: said(...texts) });
  return {
    a1: call(0, "Hello"), b1: call(10, "Other"), a2: call(20, "Hello", "so", "And?"), a3: call(30, "Hello", "so", "And?", "so", "Then?"),
    a4: call(40, "Hello", "so", "And?", "so", "Else?"), b2: call(50, "Other", "so", "More?"), a5: call(60, "Hello", "so", "And?", "so", "Then?", "so", "End?"),
  };
}

test("conversations are a tree of what continues what", async (t) => {
  const { url } = await loomrec(t, "ui", recordingOf(t, talks()));
  const page = await open(t, url);
  await shown(page, "7 calls");
  await page.locator("#view-conversations").click();
  await waitForOrder(page, [1, 3, 4, 7, 5, 2, 6]);
  assert.equal(await page.locator("#list").getAttribute("role"), "treegrid");
  const level = async (seq) => [await row(page, seq).getAttribute("aria-level"), await row(page, seq).locator(".branch").innerText()];
  assert.deepEqual(await level(1), ["1", "5 calls, 2 branches"]);
  assert.deepEqual(await level(3), ["2", "↳"]);
  assert.deepEqual(await level(4), ["3", "↳"]);
  assert.deepEqual(await level(7), ["3", "↳"]);
  assert.deepEqual(await level(5), ["3", "↳ from #3"]);
  assert.deepEqual(await level(2), ["1", "2 calls"]);
  // What a filter leaves out is passed over.
  await page.locator("#q").fill("end?");
  await waitForOrder(page, [7]);
  await page.locator("#q").fill("hello");
  await waitForOrder(page, [1, 3, 4, 7, 5]);
  await page.evaluate(axeSource());
  const found = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  assert.deepEqual(found.violations.map((one) => `${one.id}: ${one.nodes.map((node) => node.target)}`), []);
});

test("two calls are compared as diff compares them", async (t) => {
  const one = entry({ at: 0, content: "Take a coat.\nIt rains.", messages: [{ role: "user", content: "In <b>Oslo</b>?" }] });
  const two = entry({ at: 10, content: "Take a coat.\nIt is dry.", messages: [{ role: "user", content: "In <i>Rome</i>?" }] });
  const { url } = await loomrec(t, "ui", recordingOf(t, { one, two, three: { ...one, recorded_at: two.recorded_at.replace("0.01", "0.02") } }));
  const page = await open(t, url, { fragment: "#call=1" });
  await shown(page, "3 calls");
  await loaded(page);
  await page.keyboard.press("m");
  await row(page, 2).click();
  await page.locator("#panel.p-compare .lead", { hasText: "#1 and #2 differ in 2 places." }).waitFor();
  const text = await page.locator("#panel").innerText();
  assert.match(text, /\/messages\/0\/content[\s\S]*<b>Oslo<\/b>[\s\S]*<i>Rome<\/i>/);
  assert.match(text, /answer\/text[\s\S]*It rains\.[\s\S]*It is dry\./);
  assert.equal(await page.locator("#panel b:not(.lead b), #panel i").count(), 0);
  // The same as the command says of two files.
  const files = [recordingOf(t, { call: one }), recordingOf(t, { call: two })];
  let said;
  try {
    said = execFileSync(process.env.LOOMREC_BIN, ["diff", "--json", ...files], { encoding: "utf8" });
  } catch (error) {
    said = error.stdout;
  }
  const answer = await page.evaluate(() => fetch("/__loomrec/compare?seq=1,2").then((response) => response.json()));
  assert.deepEqual(answer.differences, JSON.parse(said).calls[0].differences);
  await row(page, 3).click();
  await page.locator("#panel.p-compare .lead", { hasText: "#1 and #3 say the same." }).waitFor();
  await page.locator("#panel button", { hasText: "Stop comparing" }).click();
  await page.locator("#panel:not(.p-compare)").waitFor();
});

test("a chunk's line has its words, whole", async (t) => {
  const delta = (content) => `data: ${JSON.stringify({ id: "chatcmpl-Bx0000000000", object: "chat.completion.chunk", created: 1767225600,
    model: "gpt-4o-mini-2024-07-18", system_fingerprint: "fp_34a54ae93c", choices: [{ index: 0, delta: { content }, finish_reason: null }] })}\n\n`;
  const long = "A light coat, an umbrella, and shoes that do not mind the puddles of a long autumn afternoon in the north of the country. ".repeat(3);
  const call = entry({ content: "x", messages: [{ role: "user", content: "What?" }] });
  call.response = { status: 200, headers: { "content-type": "text/event-stream" }, end: "complete",
    chunks: [[10, delta("Take <b>this</b>:")], [20, delta(long)], [30, "data: [DONE]\n\n"]] };
  const { url } = await loomrec(t, "ui", recordingOf(t, { call }));
  const page = await open(t, url, { fragment: "#call=1&tab=stream" });
  await loaded(page);
  await tab(page, "stream");
  const texts = page.locator(".chunk-body .k-text");
  await texts.nth(2).waitFor();
  const said = await texts.allInnerTexts();
  assert.equal(said[0], "Take <b>this</b>:");
  assert.ok(long.startsWith(said[1].replace(/…$/, "").trimEnd()), said[1]);
  assert.match(said[2], /\[DONE\]/);
  // The line ends where a word ends: what is in sight of it has no part of a word.
  const cut = await texts.nth(1).evaluate((cell) => {
    const range = document.createRange();
    const node = cell.firstChild;
    const bottom = cell.getBoundingClientRect().bottom - 2;
    for (let end = 1; end <= node.length; end += 1) {
      range.setStart(node, end - 1);
      range.setEnd(node, end);
      if (range.getBoundingClientRect().top >= bottom) return node.data.slice(end - 2, end);
    }
    return "";
  });
  assert.match(cut, /^\s|^$/, "a word is cut");
  await texts.nth(1).click();
  assert.match(await page.locator(".readout .chunk-words").innerText(), /^A light coat, an umbrella/);
});

test("on a narrow screen everything is in sight", async (t) => {
  const { url } = await journal(t, CALLS);
  const page = await open(t, url, { viewport: { width: 375, height: 740 } });
  await shown(page, "4 calls");
  const over = () => page.evaluate(() => [...document.querySelectorAll("#top *, #rows .row > *, #columns > *, #facts *, #tabs *")]
    .filter((one) => one.getClientRects().length && !one.classList.contains("away") && one.getBoundingClientRect().right > 375.5).map((one) => one.outerHTML.slice(0, 80)));
  for (const view of ["list", "waterfall", "conversations"]) {
    await page.locator("#view-" + view).click();
    assert.deepEqual(await over(), [], view);
    for (const name of ["#sum-cost", "#q", "#sort", "#export"]) assert.ok(await page.locator(name).isVisible(), `${name} in ${view}`);
  }
  const cut = (page, places) => page.evaluate((places) => [...document.querySelectorAll(places)]
    .filter((one) => one.getClientRects().length && (one.scrollWidth > one.clientWidth || one.clientHeight > 40)).map((one) => one.outerHTML.slice(0, 80)), places);
  await page.locator("#view-list").click();
  assert.deepEqual(await cut(page, "#columns .sort"), []);
  await row(page, 3).click();
  await loaded(page);
  assert.deepEqual(await over(), []);
  await page.locator("#detail-close").click();
  await page.locator("#q").waitFor();

  const recording = await loomrec(t, "ui", recordingOf(t, talks()));
  const other = await open(t, recording.url, { viewport: { width: 375, height: 740 }, fragment: "#call=1&tab=raw" });
  await other.locator(".p-raw .over").first().waitFor();
  await other.locator("#mark").click();
  assert.deepEqual(await cut(other, "#detail-title, .p-raw .over > :not(code)"), []);
});
