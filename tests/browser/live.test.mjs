// What happens while the page is open: calls come, loomrec goes and comes back, a token.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { chat, closeBrowser, folder, loomrec, open, reply, root, row, shown, streamed, tab, upstream } from "./support.mjs";

after(closeBrowser);

test("a live call appears while the page is open, with its conversation", async (t) => {
  const at = await upstream(t, (body, response) => reply(response, `You said: ${body.messages[0].content}`));
  const run = await loomrec(t, "record", "-r", join(folder(t), "r.json"), "--listen", "127.0.0.1:0", "--upstream", `openai=${at}`);
  const page = await open(t, run.url);
  await page.locator("#live-text", { hasText: "live" }).waitFor();
  await page.locator("#empty", { hasText: "No calls yet" }).waitFor();
  assert.equal((await chat(run.url, "Is it raining?", { headers: { "x-loomrec-step-id": "weather" } })).status, 200);
  await row(page, 1).waitFor();
  assert.match(await row(page, 1).innerText(), /recorded[\s\S]*200[\s\S]*openai[\s\S]*gpt-4o-mini[\s\S]*weather[\s\S]*12 → 34/);
  await chat(run.url, "And tomorrow?");
  await row(page, 2).waitFor();
  await shown(page, "2 calls");
  await row(page, 1).locator("bdi", { hasText: "weather · Is it raining?" }).waitFor();
  await row(page, 2).locator("bdi", { hasText: "And tomorrow?" }).waitFor();
  await row(page, 1).click();
  const messages = page.locator(".message");
  await messages.nth(1).waitFor();
  assert.deepEqual(await messages.locator(".role").allInnerTexts(), ["user", "assistant"]);
  assert.deepEqual(await messages.locator(".text").allInnerTexts(), ["Is it raining?", "You said: Is it raining?"]);
  await tab(page, "raw");
  await page.locator(".p-raw summary", { hasText: "header" }).last().click();
  assert.match(await page.locator("#panel").innerText(), /x-served-by/);
  assert.doesNotMatch(await page.locator("body").innerText(), /sk-test/);
  await tab(page, "line");
  assert.match(await page.locator("#panel").innerText(), /"seq": 1,/);
});

test("the list of a replay says what calls ask, and searches for it", async (t) => {
  const recording = join(folder(t), "r.json");
  const at = await upstream(t, (body, response) => reply(response, "Yes."));
  const recorder = await loomrec(t, "record", "-r", recording, "--listen", "127.0.0.1:0", "--upstream", `openai=${at}`);
  for (let day = 1; day <= 120; day += 1) await chat(recorder.url, `Rain on day ${day}?`);
  assert.equal(await recorder.stop(), 0);
  const run = await loomrec(t, "replay", "-r", recording, "--listen", "127.0.0.1:0");
  const page = await open(t, run.url);
  for (let day = 1; day <= 120; day += 1) await chat(run.url, `Rain on day ${day}?`);
  assert.equal((await chat(run.url, "Rain <b>today</b>\n?")).status, 422);
  await row(page, 121).locator("bdi", { hasText: "Rain <b>today</b> ?" }).waitFor();
  await row(page, 120).locator("bdi", { hasText: "Rain on day 120?" }).waitFor();
  // This one was never in sight.
  await page.locator("#q").fill("rain day 57?");
  await shown(page, "1 of 121");
  await row(page, 57).locator("bdi", { hasText: "Rain on day 57?" }).waitFor();
  assert.equal(await row(page, 57).locator(".c-call").getAttribute("title"), "Rain on day 57? (/v1/chat/completions)");
});

test("a recorded stream opens as a timeline with its chunks and gaps", async (t) => {
  const words = ["Light ", "coat, ", "umbrella, ", "and ", "shoes."];
  const at = await upstream(t, (body, response) => streamed(response, words, [60, 15, 600, 15, 15]));
  const run = await loomrec(t, "record", "-r", join(folder(t), "r.json"), "--listen", "127.0.0.1:0", "--upstream", `openai=${at}`);
  assert.match((await chat(run.url, "What shall I wear?", { stream: true })).text, /\[DONE\]/);
  const page = await open(t, run.url);
  await row(page, 1).click();
  await tab(page, "stream");
  await page.locator(".chart svg").waitFor();
  // A slow machine may join chunks; what there is, is drawn.
  const count = await page.locator(".chunk-body .chunk").count();
  assert.ok(count >= 2, `${count} chunks`);
  assert.equal(await page.locator(".chart .beat").count(), count);
  const notes = (await page.locator(".chart .note").allTextContents()).join(" ");
  const [, longest, unit] = /longest gap ([\d.]+) (m?s)/.exec(notes);
  assert.ok(longest * (unit === "s" ? 1000 : 1) >= 500, notes);
  await tab(page, "conversation");
  assert.match(await page.locator(".answered .text").innerText(), /Light coat, umbrella, and shoes\./);
});

test("the timeline says of each chunk when it came", async (t) => {
  const entries = JSON.parse(readFileSync(join(root, "recordings/demo.json"), "utf8"));
  const { chunks } = Object.values(entries).map((entry) => entry.response || {}).find((response) => response.chunks);
  const run = await loomrec(t, "ui", join(root, "recordings/demo.json"));
  const page = await open(t, run.url, { fragment: "#call=3&tab=stream" });
  await page.locator(".chart svg").waitFor();
  assert.equal(await page.locator(".chart .beat").count(), chunks.length);
  const ms = (value) => `${value < 99.95 ? value.toFixed(1) : value.toFixed(0)} ms`;
  assert.match((await page.locator(".chart .note").allTextContents()).join(" "), new RegExp(`first byte ${ms(chunks[0][0])}`));
  await page.locator(".chart").focus();
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowRight");
  const readout = page.locator(".readout");
  await readout.locator("b", { hasText: "#3" }).waitFor();
  const said = await readout.innerText();
  assert.ok(said.includes(`at ${ms(chunks[2][0])}`) && said.includes(`${ms(chunks[2][0] - chunks[1][0])} after`), said);
  assert.ok(said.replace(/\s/g, "").includes(chunks[2][1].split("\n")[0].replace(/\s/g, "")), said);
  assert.match(await page.locator(".chart").getAttribute("aria-valuetext"), /^chunk 3 at .* gap /);
  const box = await page.locator(".chart").boundingBox();
  await page.mouse.move(box.x + box.width - 10, box.y + 60);
  await readout.locator("b", { hasText: `#${chunks.length}` }).waitFor();
  await page.locator(".chunk-body .chunk.current", { hasText: "[DONE]" }).waitFor();
});

test("a missed call opens with its mismatch and both requests", async (t) => {
  const recording = join(folder(t), "r.json");
  const at = await upstream(t, (body, response) => reply(response, "Yes."));
  const recorder = await loomrec(t, "record", "-r", recording, "--listen", "127.0.0.1:0", "--upstream", `openai=${at}`);
  await chat(recorder.url, "Do I need an umbrella in Paris today?", { temperature: 0.2 });
  assert.equal(await recorder.stop(), 0);
  const run = await loomrec(t, "replay", "-r", recording, "--listen", "127.0.0.1:0");
  const page = await open(t, run.url);
  assert.equal((await chat(run.url, "Do I need an umbrella in Paris tomorrow?", { temperature: 0.2 })).status, 422);
  assert.equal((await chat(run.url, "Do I need an umbrella in Paris today?", { temperature: 0.2 })).status, 200);
  await row(page, 1).click();
  await page.locator("#panel.p-mismatch .differences").waitFor();
  assert.equal(await page.locator("#tab-mismatch").getAttribute("aria-selected"), "true");
  const differences = page.locator(".differences tbody tr");
  assert.equal(await differences.count(), 1);
  assert.equal(await differences.locator("th").innerText(), "/messages/0/content");
  assert.deepEqual([await differences.locator("del").innerText(), await differences.locator("ins").innerText()], ["today", "tomorrow"]);
  const remedy = await page.locator(".remedy code").allInnerTexts();
  assert.equal(remedy.length, 3, remedy.join("\n"));
  assert.equal(remedy[0], "--pending");
  assert.match(remedy[1], /^loomrec rerecord .* --pending$/);
  assert.match(remedy[2], /^loomrec review /);
  const changed = page.locator(".sides tr.changed");
  await changed.first().waitFor();
  assert.match(await changed.innerText(), /umbrella in Paris today[\s\S]*umbrella in Paris tomorrow/);
  // The one beside it was served: the choice of a tab is not carried over.
  await page.keyboard.press("j");
  await page.locator("#panel.p-conversation .answered", { hasText: "Yes." }).waitFor();
});

test("a token is asked for, and kept in the tab", async (t) => {
  const at = await upstream(t, (body, response) => reply(response, "Yes."));
  const run = await loomrec(t, "record", "-r", join(folder(t), "r.json"), "--listen", "127.0.0.1:0",
    "--upstream", `openai=${at}`, "--control-token", "open sesame");
  await chat(run.url, "Anyone there?");
  const page = await open(t, run.url, { expected: /status of 40[13]/ });
  await page.locator("#token-value").fill("wrong");
  await page.keyboard.press("Enter");
  await page.locator("#token-wrong").waitFor();
  assert.equal(await page.locator(".row.head").isVisible(), false);
  await page.locator("#token-value").fill("open sesame");
  await page.keyboard.press("Enter");
  await row(page, 1).click();
  await page.locator(".message").first().waitFor();
  await page.reload();
  await row(page, 1).waitFor();
  assert.equal(await page.locator("#token").isVisible(), false);
});

test("what came stays when loomrec is gone, and another run begins anew", async (t) => {
  const at = await upstream(t, (body, response) => reply(response, "Yes."));
  const recording = join(folder(t), "r.json");
  const start = (listen) => loomrec(t, "record", "-r", recording, "--listen", listen, "--upstream", `openai=${at}`);
  const run = await start("127.0.0.1:0");
  const page = await open(t, run.url, { expected: /ERR_CONNECTION_REFUSED|ERR_INCOMPLETE|ERR_CONNECTION_RESET|ERR_EMPTY/ });
  await chat(run.url, "One");
  await chat(run.url, "Two");
  await row(page, 2).waitFor();
  await run.stop();
  await page.locator("#notice-text", { hasText: "does not answer" }).waitFor();
  await shown(page, "2 calls");
  const again = await start(run.url.replace("http://", ""));
  await chat(again.url, "Three");
  await page.locator("#live-text", { hasText: "live" }).waitFor();
  await shown(page, "1 call");
});

test("another run is told apart even if it has more calls", async (t) => {
  const at = await upstream(t, (body, response) => reply(response, "Yes."));
  const recording = join(folder(t), "r.json");
  const start = (listen) => loomrec(t, "record", "-r", recording, "--listen", listen, "--upstream", `openai=${at}`);
  const run = await start("127.0.0.1:0");
  const page = await open(t, run.url, { expected: /ERR_/ });
  await chat(run.url, "One", { headers: { "x-loomrec-step-id": "of the first run" } });
  await row(page, 1).click();
  await page.context().setOffline(true);
  await run.stop();
  const again = await start(run.url.replace("http://", ""));
  for (const text of ["Two", "Three"]) await chat(again.url, text);
  await page.context().setOffline(false);
  await page.locator("#notice-text", { hasText: "Another run" }).waitFor();
  await shown(page, "2 calls");
  assert.doesNotMatch(await page.locator("#rows").innerText(), /of the first run/);
  await page.locator("#detail").waitFor({ state: "hidden" });
});
