// A program with the Codex SDK: one prompt, with the shell.
import { Codex } from "@openai/codex-sdk";

// Plug-ins are read from chatgpt.com, past loomrec.
const config = { features: { plugins: false } };
const codex = new Codex({ baseUrl: process.env.OPENAI_BASE_URL, apiKey: process.env.OPENAI_API_KEY, config });
const thread = codex.startThread({ sandboxMode: "danger-full-access" });
const turn = await thread.run(process.env.PROMPT);
console.log(turn.finalResponse);
