// Instructor for JavaScript: an answer of a wrong shape is asked for again.
import Instructor from "@instructor-ai/instructor";
import OpenAI from "openai";
import { z } from "zod";

const client = Instructor({ client: new OpenAI(), mode: "TOOLS" });
const Report = z.object({ city: z.string(), degrees: z.number() });
const report = await client.chat.completions.create({
  model: "gpt-4o",
  messages: [{ role: "user", content: process.env.PROMPT }],
  response_model: { schema: Report, name: "Report" },
  max_retries: 2,
});
console.log(JSON.stringify({ city: report.city, degrees: report.degrees }));
