// What openai_realtime.py does, for Node, and how the connection was closed.
// With --global, by the WebSocket of the language.
// usage: openai_realtime.mjs [--direct] [--global] INSTRUCTIONS PROMPT
import { words } from "./direct.mjs";
import { OpenAIRealtimeWebSocket } from "openai/realtime/websocket";
import { OpenAIRealtimeWS } from "openai/realtime/ws";
import { emit, failure } from "./show.mjs";

const isGlobal = words[0] === "--global";
const [instructions, text] = words.slice(isGlobal ? 1 : 0);
const document = { events: [], errors: [] };
const Realtime = isGlobal ? OpenAIRealtimeWebSocket : OpenAIRealtimeWS;
const realtime = new Realtime({ model: "gpt-realtime", dangerouslyAllowBrowser: true });
realtime.on("event", (event) => {
  document.events.push(event);
  if (event.type === "session.created") {
    const session = { type: "realtime", output_modalities: ["text"], instructions };
    realtime.send({ type: "session.update", session });
    const item = { type: "message", role: "user", content: [{ type: "input_text", text }] };
    realtime.send({ type: "conversation.item.create", item });
    realtime.send({ type: "response.create" });
  } else if (event.type === "response.done") {
    realtime.close();
  }
});
realtime.on("error", (error) => document.errors.push(failure(error).failed));
realtime.socket.addEventListener("close", ({ code, reason }) => {
  document.closed = { code, reason };
  emit(document);
});
