// What a recording holds is text, whatever it looks like.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { chat, closeBrowser, folder, loaded, loomrec, open, reply, root, row, shown, streamed, tab, upstream } from "./support.mjs";

after(closeBrowser);

const MARKUP = '</script><script>window.pwned=1</script><img src=x onerror="window.pwned=2"><svg onload=alert(3)>'
  + '<a href="javascript:alert(4)">x</a><style>*{display:none}</style><iframe src="https://example.com"></iframe>';
const ESCAPES = "\u001b]0;title\u0007\u001b[31mred\u001b[2J \u009b1m";
const TURNED = "invoice\u202egnp.exe\u202c \u2066x\u2069 zero\u200bwidth \u{e0041}tag";
const TEXT = `${MARKUP} ${ESCAPES} ${TURNED}`;

/** Opens every tab; each must show the markup as text. */
async function lookAtAll(page, seq) {
  await row(page, seq).click();
  await loaded(page);
  const names = await page.locator("#tabs button").evaluateAll((tabs) => tabs.map((one) => one.id.slice(4)));
  for (const name of names) {
    await tab(page, name);
    for (const summary of await page.locator("#panel summary").all()) await summary.click();
  }
  return names;
}

async function assertHarmless(page) {
  assert.equal(await page.evaluate(() => window.pwned), undefined);
  const made = await page.evaluate(() => document.querySelectorAll(
    "script:not([type=module]), #split img, #split svg:not(.chart svg), iframe, a:not(#skip), #split style, [onerror], [onload], [style*=display]").length);
  assert.equal(made, 0, "something became markup");
}

test("a hostile answer stays text", async (t) => {
  const at = await upstream(t, (body, response) => (body.stream ? streamed(response, [MARKUP, ESCAPES, TURNED])
    : reply(response, TEXT, { tool_calls: [{ id: MARKUP, type: "function", function: { name: MARKUP, arguments: TEXT } }] })));
  const recording = join(folder(t), "r.json");
  const run = await loomrec(t, "record", "-r", recording, "--listen", "127.0.0.1:0", "--upstream", `openai=${at}`);
  await chat(run.url, TEXT, { model: `${MARKUP}${TURNED}`, tools: [{ type: "function", function: { name: MARKUP } }] });
  await chat(run.url, TEXT, { stream: true, headers: { "x-loomrec-step-id": "<b>step</b>" } });
  await chat(run.url, "x", { path: "/openai/v1/<script>alert(1)</script>" });
  const page = await open(t, run.url, { expected: /ERR_/ });
  await shown(page, "3 calls");
  const names = await lookAtAll(page, 1);
  assert.deepEqual(names, ["conversation", "raw", "line"]);
  await tab(page, "conversation");
  const said = await page.locator(".answered").first().innerText();
  assert.ok(said.includes('<script>window.pwned=1</script><img src=x onerror="window.pwned=2">'), said);
  assert.match(said, /ESC\s*\]0;title\s*BEL\s*ESC\s*\[31mred/);
  assert.match(said, /invoice\s*U\+202E\s*gnp\.exe\s*U\+202C/);
  assert.ok(!/[\u001b\u0007\u202e\u2066\u200b]/.test(await page.locator("body").evaluate((body) => body.textContent)));
  assert.equal(await page.locator(".odd", { hasText: "U+202E" }).first().getAttribute("title"), "U+202E right-to-left override");
  assert.ok((await lookAtAll(page, 2)).includes("stream"));
  await lookAtAll(page, 3);
  await assertHarmless(page);
  assert.match(await row(page, 1).innerText(), /<\/script><script>/);

  // The same as a mismatch.
  assert.equal(await run.stop(), 0);
  const replayed = await loomrec(t, "replay", "-r", recording, "--listen", "127.0.0.1:0");
  await chat(replayed.url, `${TEXT} changed`, { model: `${MARKUP}${TURNED}`, tools: [{ type: "function", function: { name: MARKUP } }] });
  const second = await open(t, replayed.url);
  assert.ok((await lookAtAll(second, 1)).includes("mismatch"));
  await tab(second, "mismatch");
  assert.match(await second.locator("#panel").innerText(), /<img src=x/);
  await assertHarmless(second);
});

test("a line of a megabyte is folded, and shown whole when asked for", async (t) => {
  const long = "x".repeat(1 << 20);
  const at = await upstream(t, (body, response) => reply(response, long));
  const run = await loomrec(t, "record", "-r", join(folder(t), "r.json"), "--listen", "127.0.0.1:0", "--upstream", `openai=${at}`);
  await chat(run.url, "Much, please");
  const page = await open(t, run.url);
  await row(page, 1).click();
  const answer = page.locator(".answered .text");
  await answer.waitFor();
  assert.ok((await answer.evaluate((part) => part.textContent.length)) < 3000);
  await answer.locator(".fold").click();
  assert.ok((await answer.evaluate((part) => part.textContent.length)) > 1e6);
  await tab(page, "raw");
  const pre = page.locator(".p-raw section").last().locator("pre");
  assert.ok((await pre.evaluate((part) => part.textContent.length)) < 100000);
  await page.locator(".p-raw section:last-child .fold:visible", { hasText: "are left" }).click();
  await page.waitForFunction(() => document.querySelector(".p-raw section:last-child pre").textContent.length > 5e5);
});

test("the page has no way to make markup of a text, and nothing from outside", () => {
  const folder = join(root, "src/proxy/inspector/page");
  for (const name of readdirSync(folder)) {
    const text = readFileSync(join(folder, name), "utf8");
    assert.ok(text.split("\n").length < 400, `${name} is too long`);
    const outside = text.replaceAll("http://www.w3.org/2000/svg", "").match(/(https?:)?\/\/[a-z0-9-]+\.[a-z]/gi);
    assert.equal(outside, null, `${name} names another place`);
    if (name.endsWith(".js")) {
      const forbidden = /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function|DOMParser|createContextualFragment|srcdoc|setHTML|\balert\(|setAttribute\("style"|import\(/;
      assert.doesNotMatch(text, forbidden, name);
      assert.doesNotMatch(text, /setTimeout\(["'`]/, name);
      assert.doesNotMatch(text, /<\/?script/i, name);
    }
    if (name.endsWith(".html")) assert.doesNotMatch(text, /\s(on[a-z]+|style)\s*=/i, name);
    if (name.endsWith(".css")) assert.doesNotMatch(text, /@import|url\(|expression/i, name);
  }
});
