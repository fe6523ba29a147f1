// What openai_responses_socket.py does, for Node. usage: openai_responses_socket.mjs [--direct] PROMPT...
import { words } from "./direct.mjs";
import OpenAI from "openai";
import { ResponsesWS } from "openai/resources/responses/ws";
import { emit, failure } from "./show.mjs";

const LAST = ["response.completed", "response.failed", "response.incomplete"];
const prompts = [...words];
const document = { turns: [] };
const socket = new ResponsesWS(new OpenAI());

function ask() {
  if (prompts.length === 0) return socket.close();
  document.turns.push([]);
  socket.send({ type: "response.create", model: "gpt-5-mini", input: prompts.shift() });
}

ask();
for await (const event of socket.stream()) {
  if (event.type === "message") {
    document.turns.at(-1).push(event.message);
    if (LAST.includes(event.message.type)) ask();
  } else if (event.type === "error") {
    document.turns.at(-1).push(failure(event.error));
    ask();
  } else if (event.type === "close") {
    document.closed = { code: event.code, reason: event.reason };
  }
}
emit(document);
