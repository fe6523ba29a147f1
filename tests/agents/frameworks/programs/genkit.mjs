// Genkit: generateStream with a tool, over Gemini.
import { googleAI } from "@genkit-ai/google-genai";
import { genkit, z } from "genkit";

const ai = genkit({
  plugins: [googleAI({ baseUrl: process.env.GOOGLE_GEMINI_BASE_URL })],
  model: googleAI.model("gemini-2.5-flash"),
});
const weather = ai.defineTool({
  name: "weather",
  description: "Returns the weather in a city.",
  inputSchema: z.object({ city: z.string() }),
  outputSchema: z.string(),
}, async ({ city }) => `${city.length} degrees, light rain`);
const { stream, response } = ai.generateStream({ prompt: process.env.PROMPT, tools: [weather] });
for await (const chunk of stream) console.log(JSON.stringify(chunk.content));
console.log((await response).text);
