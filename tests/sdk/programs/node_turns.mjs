// Chat by openai-node.
import OpenAI from "openai";
import { SCHEMA, meaning, run } from "./turns.mjs";

const client = new OpenAI({ maxRetries: 0 });
const TOOL = { type: "function", function: { name: "get_weather", parameters: SCHEMA } };

async function ask(turn) {
  const question = { model: "gpt-4o-mini", messages: [{ role: "user", content: turn.prompt }] };
  if (turn.tools) question.tools = [TOOL];
  const { headers } = turn;
  let answer;
  const saw = [];
  if (turn.streamed) {
    const stream = client.chat.completions.stream(
      { ...question, stream_options: { include_usage: true } },
      { headers },
    );
    for await (const event of stream) saw.push(event);
    answer = await stream.finalChatCompletion();
  } else {
    answer = await client.chat.completions.create(question, { headers });
    saw.push(answer);
  }
  const [{ message, finish_reason: finish }] = answer.choices;
  const calls = (message.tool_calls ?? []).map(({ id, function: called }) => [
    id,
    called.name,
    JSON.parse(called.arguments),
  ]);
  const usage = [answer.usage.prompt_tokens, answer.usage.completion_tokens];
  return [meaning(message.content, finish, usage, calls, answer.model), saw];
}

await run(ask, [400]);
