// Ask one question by every SDK for Node, complete and streamed, each with the retries it
// comes with. usage: every_sdk.mjs PROMPT
import { anthropic } from "@ai-sdk/anthropic";
import { openai } from "@ai-sdk/openai";
import { GoogleGenAI } from "@google/genai";
import { generateText, streamText } from "ai";
import OpenAI from "openai";
import { emit, failure } from "./show.mjs";

globalThis.AI_SDK_LOG_WARNINGS = false;
const prompt = process.argv.at(-1);
const messages = [{ role: "user", content: prompt }];

async function drain(stream) {
  for await (const event of stream) void event;
}

async function openaiNode(stream) {
  const answer = await new OpenAI().chat.completions.create({ model: "gpt-4o-mini", messages, stream });
  if (stream) await drain(answer);
}

async function gemini(stream) {
  const { models } = new GoogleGenAI({ apiKey: process.env.GEMINI_API_KEY });
  const question = { model: "gemini-2.5-flash", contents: prompt };
  if (stream) return drain(await models.generateContentStream(question));
  await models.generateContent(question);
}

function aiSdk(model) {
  return async (stream) => {
    if (!stream) return generateText({ model, prompt, temperature: 0.5 });
    let failed = null;
    const answer = streamText({ model, prompt, temperature: 0.5, onError: ({ error }) => (failed = error) });
    await drain(answer.fullStream);
    if (failed) throw failed;
  };
}

const sdks = {
  openai: openaiNode,
  "@google/genai": gemini,
  "ai chat": aiSdk(openai.chat("gpt-4o-mini")),
  "ai responses": aiSdk(openai("gpt-4o-mini")),
  "ai anthropic": aiSdk(anthropic("claude-haiku-4-5")),
};
const document = {};
for (const [name, ask] of Object.entries(sdks)) {
  const outcome = async (stream) => (await ask(stream).then(() => ({}), failure)).failed ?? null;
  document[name] = { complete: await outcome(false), streamed: await outcome(true) };
}
emit(document);
