// What clients.py does, for Node: see there.
import { readFileSync } from "node:fs";
import { hideBaseUrls, words } from "./direct.mjs";
import { emit, failure } from "./show.mjs";

const [client, ...prompts] = words;
const REFUSED = "https://gateway.example";
globalThis.AI_SDK_LOG_WARNINGS = false;

/** By axios in this version, whose calls have a full address. */
const byAxios = (name) => async (prompt, baseURL = process.env.OPENAI_BASE_URL ?? "https://api.openai.com/v1") => {
  const { default: axios } = await import(name);
  const messages = [{ role: "user", content: prompt }];
  const headers = { authorization: `Bearer ${process.env.OPENAI_API_KEY}` };
  const { data } = await axios.post(`${baseURL}/chat/completions`, { model: "gpt-4o-mini", messages }, { headers });
  return data.choices[0].message.content;
};

const CLIENTS = {
  axios: byAxios("axios"),
  "axios-1.7": byAxios("axios-1.7"),
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
  // Over HTTP/2, complete and as a stream.
  async "@aws-sdk/client-bedrock-runtime"(prompt, endpoint) {
    const { BedrockRuntimeClient, ConverseCommand, ConverseStreamCommand } = await import("@aws-sdk/client-bedrock-runtime");
    const given = new BedrockRuntimeClient({ region: "us-east-1", endpoint, maxAttempts: 1 });
    const asked = {
      modelId: "us.anthropic.claude-haiku-4-5-20251001-v1:0",
      messages: [{ role: "user", content: [{ text: prompt }] }],
    };
    try {
      const complete = (await given.send(new ConverseCommand(asked))).output.message.content[0].text;
      let streamed = "";
      for await (const event of (await given.send(new ConverseStreamCommand(asked))).stream) {
        streamed += event.contentBlockDelta?.delta?.text ?? "";
      }
      return [complete, streamed];
    } finally {
      given.destroy();
    }
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
