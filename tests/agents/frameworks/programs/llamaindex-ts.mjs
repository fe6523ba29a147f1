// LlamaIndex.TS: an agent over OpenAI chat completions, streamed as it does by default.
import { openai } from "@llamaindex/openai";
import { agent, agentStreamEvent } from "@llamaindex/workflow";
import { tool } from "llamaindex";
import { z } from "zod";

const weather = tool({
  name: "weather",
  description: "Returns the weather in a city.",
  parameters: z.object({ city: z.string() }),
  execute: ({ city }) => `${city.length} degrees, light rain`,
});
const reporter = agent({ llm: openai({ model: "gpt-4o" }), tools: [weather] });
for await (const event of reporter.runStream(process.env.PROMPT)) {
  if (agentStreamEvent.include(event)) console.log(JSON.stringify(event.data.delta));
}
