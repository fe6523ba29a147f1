// What genai_live.py does, for Node, and how the connection was closed.
// usage: genai_live.mjs [--direct] PROMPT
import { words } from "./direct.mjs";
import { GoogleGenAI } from "@google/genai";
import { emit } from "./show.mjs";

const document = { messages: [], errors: [] };
const client = new GoogleGenAI({ apiKey: process.env.GEMINI_API_KEY });
const callbacks = {
  onmessage(message) {
    document.messages.push(message);
    if (message.serverContent?.turnComplete) session.close();
  },
  onerror: (error) => document.errors.push(error.message),
  onclose({ code, reason }) {
    emit({ ...document, closed: { code, reason: reason.toString() } });
    process.exit(); // where it was never opened, `connect` waits for ever
  },
};
const config = { responseModalities: ["TEXT"] };
const session = await client.live.connect({ model: "gemini-live-2.5-flash", config, callbacks });
session.sendClientContent({ turns: [{ role: "user", parts: [{ text: words[0] }] }], turnComplete: true });
