// OpenAI Agents SDK for JavaScript: an agent over OpenAI Responses, streamed.
import { Agent, run, tool } from "@openai/agents";
import { z } from "zod";

const weather = tool({
  name: "weather",
  description: "Returns the weather in a city.",
  parameters: z.object({ city: z.string() }),
  execute: async ({ city }) => `${city.length} degrees, light rain`,
});
const agent = new Agent({
  name: "Reporter", instructions: "You report the weather.", model: "gpt-4o", tools: [weather],
});
const result = await run(agent, process.env.PROMPT, { stream: true });
for await (const text of result.toTextStream()) console.log(JSON.stringify(text));
await result.completed;
console.log(result.finalOutput);
