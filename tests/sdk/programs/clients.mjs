// What clients.py does, for Node: see there.
import { readFileSync } from "node:fs";
import { hideBaseUrls, words } from "./direct.mjs";
import { emit, failure } from "./show.mjs";

const [client, ...prompts] = words;
const REFUSED = "https://gateway.example";
globalThis.AI_SDK_LOG_WARNINGS = false;

const CLIENTS = {
  async openai(prompt, baseURL) {
    const { default: OpenAI } = await import("openai");
    const messages = [{ role: "user", content: prompt }];
    const given = new OpenAI({ baseURL, maxRetries: 0 });
    const answer = await given.chat.completions.create({ model: "gpt-4o-mini", messages });
    return answer.choices[0].message.content;
  },
  async "@anthropic-ai/sdk"(prompt, baseURL) {
    const { default: Anthropic } = await import("@anthropic-ai/sdk");
    const messages = [{ role: "user", content: prompt }];
    const given = new Anthropic({ baseURL, maxRetries: 0 });
    const answer = await given.messages.create({ model: "claude-haiku-4-5", max_tokens: 99, messages });
    return answer.content[0].text;
  },
  async "@google/genai"(prompt, baseUrl) {
    const { GoogleGenAI } = await import("@google/genai");
    const options = baseUrl ? { httpOptions: { baseUrl } } : {};
    const given = new GoogleGenAI({ apiKey: process.env.GEMINI_API_KEY, ...options });
    return (await given.models.generateContent({ model: "gemini-2.5-flash", contents: prompt })).text;
  },
  async ai(prompt, baseURL) {
    const { createOpenAI } = await import("@ai-sdk/openai");
    const { generateText } = await import("ai");
    const model = createOpenAI({ baseURL }).chat("gpt-4o-mini");
    return (await generateText({ model, prompt, maxRetries: 0 })).text;
  },
};

const manifest = new URL(`../node_modules/${client}/package.json`, import.meta.url);
const answers = [];
for (const prompt of prompts) {
  if (prompt === "--direct") {
    hideBaseUrls();
    continue;
  }
  const asked = CLIENTS[client](prompt, prompt === "refused" ? REFUSED : undefined);
  answers.push(await asked.then((value) => ({ value }), failure));
}
emit({ version: JSON.parse(readFileSync(manifest, "utf8")).version, node: process.versions.node, answers });
