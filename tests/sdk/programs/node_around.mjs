// Ask one question twice: where the environment says, and at an address in the code.
// usage: node_around.mjs PROMPT
import OpenAI from "openai";
import { emit, failure } from "./show.mjs";

const question = {
  model: "gpt-4o-mini",
  messages: [{ role: "user", content: process.argv.at(-1) }],
};

async function ask(client) {
  try {
    return { value: (await client.chat.completions.create(question)).choices[0].message.content };
  } catch (error) {
    return failure(error);
  }
}

emit({
  here: await ask(new OpenAI()),
  around: await ask(new OpenAI({ baseURL: "https://api.openai.com/v1", maxRetries: 1 })),
});
