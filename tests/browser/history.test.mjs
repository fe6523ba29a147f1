// A long conversation: what the call before had already is folded.

import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { closeBrowser, folder, loaded, loomrec, open, shown } from "./support.mjs";

after(closeBrowser);

const said = (place) => `What was said at place ${place}.`;

/** A recording of a chat of so many turns. `edit` may change the messages of a turn. */
function recording(t, turns, edit = () => {}) {
  const file = { _version: 2 };
  for (let turn = 1; turn <= turns; turn += 1) {
    const messages = Array.from({ length: 2 * turn - 1 }, (_, place) => ({ role: place % 2 ? "assistant" : "user", content: said(place) }));
    edit(turn, messages);
    file[`turn ${String(turn).padStart(3, "0")}`] = {
      upstream: "openai", content: said(2 * turn - 1), recorded_at: new Date(1767225600000 + turn * 1000).toISOString(),
      request: { method: "POST", path: "/v1/chat/completions", headers: { "content-type": "application/json" }, body: { model: "m", messages } },
    };
  }
  const path = join(folder(t), "run.json");
  writeFileSync(path, JSON.stringify(file));
  return path;
}

const messages = (page) => page.locator("#panel .messages").first().locator(".message");
const folds = (page) => page.locator("#panel .messages .more button").allInnerTexts();

test("messages of the call before are folded, and open", async (t) => {
  const { url } = await loomrec(t, "ui", recording(t, 60));
  const page = await open(t, url, { fragment: "#call=60" });
  await shown(page, "60 calls");
  await loaded(page);
  await page.locator("#panel.p-conversation").waitFor();
  assert.deepEqual(await folds(page), ["117 messages as before, in call #59"]);
  assert.deepEqual((await messages(page).allInnerTexts()).map((text) => text.split("\n").pop()), [said(117), said(118)]);
  // By the keyboard: the focus goes on to what has opened.
  await page.locator("#panel .more button").focus();
  await page.keyboard.press("Enter");
  assert.deepEqual(await folds(page), ["Show 83 messages between"]);
  assert.equal(await messages(page).count(), 36);
  assert.equal(await page.evaluate(() => document.activeElement.classList.contains("message")), true);
  await page.locator("#panel .more button").click();
  assert.deepEqual(await folds(page), []);
  assert.equal(await messages(page).count(), 119);
  assert.ok((await messages(page).nth(50).innerText()).endsWith(said(50)));
});

test("a message that changed stands between folds", async (t) => {
  const path = recording(t, 20, (turn, list) => {
    if (turn === 20) list[4].content = "An edited message.";
  });
  const { url } = await loomrec(t, "ui", path);
  const page = await open(t, url, { fragment: "#call=20" });
  await shown(page, "20 calls");
  await loaded(page);
  await page.locator("#panel .muted", { hasText: "1 message of call #19 is not here, or changed." }).waitFor();
  assert.deepEqual(await folds(page), ["4 messages as before, in call #19", "32 messages as before, in call #19"]);
  assert.equal(await messages(page).count(), 3);
  // The first call has nothing before it.
  await page.evaluate(() => (location.hash = "#call=1"));
  await page.locator("#detail-title", { hasText: "#1" }).waitFor();
  await loaded(page);
  assert.deepEqual(await folds(page), []);
});
