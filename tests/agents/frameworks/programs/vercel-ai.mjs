// Vercel AI SDK: streamText with a tool, over OpenAI Responses.
import { openai } from "@ai-sdk/openai";
import { stepCountIs, streamText, tool } from "ai";
import { z } from "zod";

const weather = tool({
  description: "Returns the weather in a city.",
  inputSchema: z.object({ city: z.string() }),
  execute: async ({ city }) => `${city.length} degrees, light rain`,
});
const { fullStream } = streamText({
  model: openai("gpt-4o"), tools: { weather }, stopWhen: stepCountIs(5), prompt: process.env.PROMPT,
});
for await (const part of fullStream) {
  if (part.type === "error") throw part.error;
  if (part.type.includes("delta") || part.type === "tool-result") {
    console.log(part.type, JSON.stringify(part.text ?? part.delta ?? part.output));
  }
}
