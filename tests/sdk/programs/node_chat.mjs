// openai-node: a complete answer, a streamed one, the helper's, a retried one, errors.
import OpenAI from "openai";
import { drained, emit, failure } from "./show.mjs";

const client = new OpenAI();
const ask = (content, more = {}) => ({
  model: "gpt-4o-mini",
  messages: [{ role: "user", content }],
  ...more,
});
const { data, response } = await client.chat.completions.create(ask("hello node")).withResponse();
const streamed = await client.chat.completions.create(
  ask("stream me a node", { stream: true, stream_options: { include_usage: true } }),
);
const events = await drained(streamed);
const bytes = await client.chat.completions
  .create(ask("stream me a node", { stream: true, stream_options: { include_usage: true } }))
  .asResponse()
  .then((answer) => answer.text());
const helper = await client.chat.completions.stream(ask("help me stream")).finalChatCompletion();
const document = {
  object: data,
  requestId: response.headers.get("x-request-id"),
  ...events,
  bytes,
  helper,
  errors: {},
  streams: {},
};
for (const status of [400, 429, 503]) {
  document.errors[status] = await client.chat.completions
    .create(ask(`status ${status}`), { maxRetries: 0 })
    .catch(failure);
}
for (const scene of ["be noisy", "fail midway", "hang up midway", "reset midway"]) {
  const stream = await client.chat.completions.create(ask(`please ${scene}`, { stream: true }));
  document.streams[scene] = await drained(stream);
}
emit(document);
