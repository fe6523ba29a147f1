// Ask one question and tell the answer's meaning, or how it failed.
// usage: node_ask.mjs [--stream] PROMPT
import OpenAI from "openai";
import { emit, failure } from "./show.mjs";

let attempts = 0;
const client = new OpenAI({
  fetch: (...call) => {
    attempts += 1;
    return fetch(...call);
  },
});
const question = {
  model: "gpt-4o-mini",
  messages: [{ role: "user", content: process.argv.at(-1) }],
};
try {
  const answer = process.argv.includes("--stream")
    ? await client.chat.completions.stream(question).finalChatCompletion()
    : await client.chat.completions.create(question);
  const [choice] = answer.choices;
  emit({ text: choice.message.content, finish_reason: choice.finish_reason, model: answer.model });
} catch (error) {
  emit({ ...failure(error), attempts });
}
