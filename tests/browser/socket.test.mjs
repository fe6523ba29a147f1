// The messages of a WebSocket: both directions in their order, audio by length and time.

import assert from "node:assert/strict";
import { after, test } from "node:test";
import { closeBrowser, loaded, loomrec, open, recordingOf, row, tab } from "./support.mjs";

after(closeBrowser);

/** A recorded connection to OpenAI's Realtime API. */
function connection() {
  const sound = Buffer.alloc(48000).toString("base64");
  return {
    content: "", upstream: "openai", recorded_at: "2026-01-01T00:00:00.000000Z",
    request: { method: "GET", path: "/v1/realtime", query: "model=m", headers: { upgrade: "websocket" } },
    response: { status: 101, headers: {}, end: "complete" },
    messages: [
      { from: "server", ms: 5, body: { type: "session.created" } },
      { from: "client", ms: 10, body: { type: "input_audio_buffer.append", audio: sound } },
      { from: "server", ms: 250, body: { type: "response.output_audio.delta", delta: sound } },
      { from: "server", ms: 260, text: "<img src=x onerror=alert(1)> \u202eodd" },
      { from: "client", ms: 300, close: 1000, reason: "done" },
    ],
  };
}

test("messages of a WebSocket are shown in their order, and audio by length and time", async (t) => {
  const { url } = await loomrec(t, "ui", recordingOf(t, { talk: connection() }));
  const page = await open(t, url);
  await row(page, 1).click();
  await loaded(page);
  await tab(page, "messages");
  const rows = await page.locator(".exchanged-row").evaluateAll((all) =>
    all.map((one) => [...one.children].map((part) => part.innerText)));
  assert.deepEqual(rows.map(([number, , , side]) => [number, side]), [
    ["1", "← server"], ["2", "client →"], ["3", "← server"], ["4", "← server"], ["5", "client →"],
  ]);
  assert.deepEqual(rows.map(([, at]) => at), ["5.0 ms", "10.0 ms", "250 ms", "260 ms", "300 ms"]);
  assert.match(rows[1][5], /\(audio: 48000 bytes, 1\.00 s\)/);
  assert.match(rows[3][5], /<img src=x onerror=alert\(1\)> .*odd/);
  assert.match(rows[4][5], /close 1000 done/);
  const facts = await page.locator(".stream-facts").innerText();
  assert.match(facts.replace(/\s+/g, " "), /audio of the client .*, 1\.00 s/);
});
