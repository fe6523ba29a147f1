// LangChain.js: an agent over OpenAI chat completions, streamed token by token.
import { ChatOpenAI } from "@langchain/openai";
import { createAgent, tool } from "langchain";
import { z } from "zod";

const weather = tool(async ({ city }) => `${city.length} degrees, light rain`, {
  name: "weather",
  description: "Returns the weather in a city.",
  schema: z.object({ city: z.string() }),
});
const agent = createAgent({ model: new ChatOpenAI({ model: "gpt-4o" }), tools: [weather] });
const question = { messages: [{ role: "user", content: process.env.PROMPT }] };
for await (const [message] of await agent.stream(question, { streamMode: "messages" })) {
  console.log(JSON.stringify(message.content));
}
