// Gemini by @google/genai.
import { GoogleGenAI } from "@google/genai";
import { SCHEMA, meaning, run } from "./turns.mjs";

const declaration = { name: "get_weather", parametersJsonSchema: SCHEMA };
const client = new GoogleGenAI({ apiKey: process.env.GEMINI_API_KEY });

async function ask(turn) {
  const config = { httpOptions: { headers: turn.headers } };
  if (turn.tools) config.tools = [{ functionDeclarations: [declaration] }];
  const question = { model: "gemini-2.5-flash", contents: turn.prompt, config };
  const pieces = [];
  if (turn.streamed) {
    for await (const piece of await client.models.generateContentStream(question)) pieces.push(piece);
  } else {
    pieces.push(await client.models.generateContent(question));
  }
  const parts = pieces.flatMap((piece) => piece.candidates[0].content?.parts ?? []);
  const calls = parts
    .filter((part) => part.functionCall)
    .map(({ functionCall: call }) => [call.id ?? null, call.name, call.args]);
  const last = pieces.at(-1);
  const usage = [last.usageMetadata.promptTokenCount, last.usageMetadata.candidatesTokenCount];
  const text = parts.map((part) => part.text ?? "").join("");
  const said = meaning(text, last.candidates[0].finishReason, usage, calls, last.modelVersion);
  return [said, pieces.map(({ sdkHttpResponse, ...piece }) => piece)];
}

await run(ask, [400, 429, 503], ["fail midway", "hang up midway"]);
