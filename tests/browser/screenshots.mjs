// The pictures in docs/images: a small agent is recorded, changed a little, and replayed.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { small } from "./small.mjs";
import { test } from "node:test";
import { closeBrowser, chat, folder, loomrecIn, open, row, root, shown, upstream } from "./support.mjs";

const CITIES = ["Paris", "Lisbon", "Oslo", "Vienna", "Dublin", "Athens", "Prague", "Madrid"];
const wait = (ms) => new Promise((done) => setTimeout(done, ms));
const SYSTEM = "You are a travel assistant. Look up the weather before you advise, and answer in two sentences.";

/** Words with pauses between them that follow no clock: `seed` decides. */
async function trickle(response, events, seed) {
  response.writeHead(200, { "content-type": "text/event-stream" });
  await wait(140 + (seed * 61) % 160);
  for (const [place, event] of events.entries()) {
    await wait(place === 17 ? 480 : 6 + (place * 37 + seed * 11) % 34);
    response.write(event);
  }
  response.end();
}

const advice = (city) => `Take a light coat and an umbrella to ${city}: it is 14 °C there, with light rain until the evening and a breeze from `
  + "the west. Shoes that do not mind puddles are worth more than a scarf.";

/** Speaks three providers' languages well enough for a picture. */
async function answer(body, response) {
  const text = JSON.stringify(body);
  const city = CITIES.find((name) => text.includes(name)) || "Paris";
  const seed = CITIES.indexOf(city) + text.length;
  const words = advice(city).match(/\S+\s*/g);
  if (body.contents) {
    await wait(90 + (seed * 53) % 400);
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ candidates: [{ content: { role: "model", parts: [{ text: `${city} has three museums that are open on Mondays.` }] }, finishReason: "STOP" }],
      usageMetadata: { promptTokenCount: 96 + seed % 80, candidatesTokenCount: 24, totalTokenCount: 120 + seed % 80 }, modelVersion: "gemini-2.5-flash" }));
  } else if (/claude/.test(body.model)) {
    const event = (name, data) => `event: ${name}\ndata: ${JSON.stringify({ type: name, ...data })}\n\n`;
    await trickle(response, [
      event("message_start", { message: { id: "msg_01", type: "message", role: "assistant", model: body.model, content: [], stop_reason: null, usage: { input_tokens: 412 + seed % 300, output_tokens: 1 } } }),
      event("content_block_start", { index: 0, content_block: { type: "text", text: "" } }),
      ...words.map((word) => event("content_block_delta", { index: 0, delta: { type: "text_delta", text: word } })),
      event("content_block_stop", { index: 0 }),
      event("message_delta", { delta: { stop_reason: "end_turn" }, usage: { output_tokens: 58 } }), event("message_stop", {}),
    ], seed);
  } else {
    await wait(120 + (seed * 71) % 700);
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ id: "chatcmpl-1", object: "chat.completion", created: 1, model: "gpt-4o-mini-2024-07-18",
      choices: [{ index: 0, finish_reason: "tool_calls", message: { role: "assistant", content: null,
        tool_calls: [{ id: "call_1", type: "function", function: { name: "get_weather", arguments: JSON.stringify({ city, days: 2 }) } }] } }],
      usage: { prompt_tokens: 143 + seed % 90, completion_tokens: 21, total_tokens: 164 + seed % 90 } }));
  }
}

const TOOLS = [{ type: "function", function: { name: "get_weather", description: "The weather of a city",
  parameters: { type: "object", properties: { city: { type: "string" }, days: { type: "integer" } }, required: ["city"] } } }];

/** One round of the agent, for one city. */
async function round(url, city, when, headers = {}) {
  const question = `What shall I wear in ${city} ${when}?`;
  await chat(url, question, { tools: TOOLS, temperature: 0.2, headers: { "x-loomrec-step-id": `plan ${city}` },
    messages: [{ role: "system", content: SYSTEM }, { role: "user", content: question }] });
  await chat(url, question, { path: "/gemini/v1beta/models/gemini-2.5-flash:generateContent", model: undefined, messages: undefined,
    contents: [{ role: "user", parts: [{ text: `Which museums of ${city} are open on Mondays?` }] }] });
  await chat(url, question, { path: "/anthropic/v1/messages", model: "claude-sonnet-4-20250514", max_tokens: 1024, temperature: 0.2, stream: true,
    headers: { "anthropic-version": "2023-06-01", ...headers }, system: SYSTEM,
    tools: TOOLS.map(({ function: { name, description, parameters } }) => ({ name, description, input_schema: parameters })),
    messages: [{ role: "user", content: question },
      { role: "assistant", content: [{ type: "text", text: "I look up the weather first." }, { type: "tool_use", id: "toolu_01", name: "get_weather", input: { city, days: 2 } }] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_01", content: `{"city":"${city}","sky":"light rain","temperature_c":14,"wind_kmh":11}` }] }] });
}

test("pictures", { timeout: 300000 }, async (t) => {
  t.after(closeBrowser);
  const home = folder(t);
  const recording = "recordings/agent.json";
  mkdirSync(join(home, "recordings"));
  const at = await upstream(t, answer);
  const upstreams = ["openai", "anthropic", "gemini"].flatMap((name) => ["--upstream", `${name}=${at}`]);
  const recorder = await loomrecIn(t, home, "record", "-r", recording, "--listen", "127.0.0.1:0", ...upstreams);
  for (const city of CITIES) await round(recorder.url, city, "today");
  await recorder.stop();
  const run = await loomrecIn(t, home, "replay", "-r", recording, "--listen", "127.0.0.1:0", "--latency", "replay", "--repeat", "cycle");
  for (const [place, city] of CITIES.entries()) {
    await round(run.url, city, city === "Vienna" ? "tomorrow" : "today",
      place === 1 ? { "x-loomrec-fault": JSON.stringify({ type: "http_error", status_code: 529 }) } : {});
  }
  const pictures = [["inspector-list", "", "light"], ["inspector-conversation", "#call=3&tab=conversation", "light"],
    ["inspector-stream", "#call=3&tab=stream", "dark"], ["inspector-mismatch", "missed", "dark"]];
  for (const [name, fragment, scheme] of pictures) {
    for (const colorScheme of process.env.LOOMREC_BOTH ? ["light", "dark"] : [scheme]) {
      const page = await open(t, run.url, { colorScheme, fragment: fragment === "missed" ? "" : fragment, timezoneId: "UTC" });
      await shown(page, "24 calls");
      if (fragment === "missed") await page.locator(".row", { hasText: "missed" }).last().click();
      if (fragment) {
        await page.locator("#detail[aria-busy=false]").waitFor();
        const stall = page.locator(".stall");
        if (/stream/.test(fragment)) {
          const box = await stall.boundingBox();
          await page.mouse.move(box.x + box.width, box.y + 40);
        }
      }
      await row(page, 5).locator("bdi", { hasText: "Which museums of" }).waitFor();
      await wait(300);
      const file = process.env.LOOMREC_BOTH ? join(process.env.LOOMREC_BOTH, `${name}-${colorScheme}.png`) : join(root, "docs/images", `${name}.png`);
      writeFileSync(file, await small(page.context(), await page.screenshot({ animations: "disabled" })));
      await page.context().close();
    }
  }
});
