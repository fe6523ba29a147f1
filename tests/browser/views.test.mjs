// The views of the list: sorted, as a waterfall, on a narrow screen; its totals; what is exported.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { readFileSync, writeFileSync } from "node:fs";
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
  return loomrec(t, "ui", file, "--no-open");
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
  await page.evaluate(axeSource());
  const found = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  assert.deepEqual(found.violations.map((one) => `${one.id}: ${one.nodes.map((node) => node.target)}`), []);
  // The list again.
  await page.keyboard.press("v");
  await waitForOrder(page, [1, 2, 3, 4]);
});

test("on a narrow screen everything is in sight", async (t) => {
  const { url } = await journal(t, CALLS);
  const page = await open(t, url, { viewport: { width: 375, height: 740 } });
  await shown(page, "4 calls");
  const over = () => page.evaluate(() => [...document.querySelectorAll("#top *, #rows .row > *, #columns > *, #facts *, #tabs *")]
    .filter((one) => one.getClientRects().length && !one.classList.contains("away") && one.getBoundingClientRect().right > 375.5).map((one) => one.outerHTML.slice(0, 80)));
  for (const view of ["list", "waterfall"]) {
    await page.locator("#view-" + view).click();
    assert.deepEqual(await over(), [], view);
    for (const name of ["#sum-cost", "#q", "#sort", "#export"]) assert.ok(await page.locator(name).isVisible(), `${name} in ${view}`);
  }
  await row(page, 3).click();
  await loaded(page);
  assert.deepEqual(await over(), []);
  await page.locator("#detail-close").click();
  await page.locator("#q").waitFor();
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
  const { url } = await loomrec(t, "ui", file, "--no-open");
  const page = await open(t, url);
  await shown(page, "8 calls");
  const listed = execFileSync(process.env.LOOMREC_BIN, ["ls", file], { encoding: "utf8" });
  const ofList = new Map([...listed.matchAll(/(cost \w+) .*?(\$[\d.e-]+|unknown)/g)].map(([, name, cost]) => [name, cost]));
  const ofPage = new Map(await page.locator("#rows .row").evaluateAll((rows) => rows.map((one) =>
    [one.querySelector(".c-call").innerText.split(" · ")[0].trim(), one.querySelector(".c-cost").innerText])));
  // An amount that is not nothing never looks like nothing.
  assert.deepEqual([ofPage.get("cost alfa"), ofPage.get("cost echo")], ["$0.0000004", "$2e-13"]);
  for (const name of ["bravo", "charlie", "delta", "foxtrot", "golf", "unknown"]) assert.equal(ofPage.get(`cost ${name}`), ofList.get(`cost ${name}`), name);
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
  const call = (content) => entry({ content, messages: [{ role: "user", content: `Say <b>${content}</b>` }] });
  const file = recordingOf(t, { first: call("one"), second: call("two"), third: call("three") });
  const { url } = await loomrec(t, "ui", file, "--no-open");
  const page = await open(t, url);
  await shown(page, "3 calls");
  await page.locator("#q").fill("say two");
  await shown(page, "1 of 3");
  const [download] = await Promise.all([page.waitForEvent("download"), page.locator("#export").click()]);
  assert.equal(download.suggestedFilename(), "run-calls.jsonl");
  const path = join(folder(t), "calls.jsonl");
  await download.saveAs(path);
  const lines = readFileSync(path, "utf8").trim().split("\n").map((line) => JSON.parse(line));
  assert.deepEqual(lines.map((line) => [line.seq, line.step_id]), [[2, "second"]]);
  const again = await loomrec(t, "ui", path, "-r", file, "--no-open");
  const other = await open(t, again.url);
  await shown(other, "1 call");
  await row(other, 1).click();
  await tab(other, "conversation");
  assert.match(await other.locator("#panel").innerText(), /Say <b>two<\/b>[\s\S]*two/);
});
