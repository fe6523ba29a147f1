// What openai_realtime.py does, for Node, and how the connection was closed.
// usage: openai_realtime.mjs [--direct] INSTRUCTIONS PROMPT
import { words } from "./direct.mjs";
import { OpenAIRealtimeWS } from "openai/realtime/ws";
import { emit, failure } from "./show.mjs";

const [instructions, text] = words;
const document = { events: [], errors: [] };
const realtime = new OpenAIRealtimeWS({ model: "gpt-realtime" });
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
realtime.socket.on("close", (code, reason) => {
  document.closed = { code, reason: reason.toString() };
  emit(document);
});
