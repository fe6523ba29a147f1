// Mastra: an agent with a tool, streamed.
import { openai } from "@ai-sdk/openai";
import { Agent } from "@mastra/core/agent";
import { createTool } from "@mastra/core/tools";
import { z } from "zod";

const weather = createTool({
  id: "weather",
  description: "Returns the weather in a city.",
  inputSchema: z.object({ city: z.string() }),
  execute: async (input) => `${(input.context ?? input).city.length} degrees, light rain`,
});
const agent = new Agent({
  id: "reporter", name: "Reporter", instructions: "You report the weather.",
  model: openai("gpt-4o"), tools: { weather },
});
const { textStream } = await agent.stream(process.env.PROMPT);
for await (const text of textStream) console.log(JSON.stringify(text));
