// The AI SDK for Node: OpenAI's chat and Responses, and Anthropic.
import { anthropic } from "@ai-sdk/anthropic";
import { openai } from "@ai-sdk/openai";
import { generateText, jsonSchema, streamText, tool } from "ai";
import { emit } from "./show.mjs";
import { SCHEMA, STEPS, failures, meaning, told } from "./turns.mjs";

globalThis.AI_SDK_LOG_WARNINGS = false;
const TOOLS = { get_weather: tool({ description: "The weather", inputSchema: jsonSchema(SCHEMA) }) };
const MODELS = {
  chat: openai.chat("gpt-4o-mini"),
  responses: openai("gpt-4o-mini"),
  anthropic: anthropic("claude-haiku-4-5"),
};

function by(model) {
  return async (turn) => {
    const question = { model, prompt: turn.prompt, headers: turn.headers, maxRetries: 0 };
    if (turn.tools) question.tools = TOOLS;
    if (!turn.streamed) {
      const answer = await generateText(question);
      const { text, finishReason, usage, toolCalls, response } = answer;
      return [said(text, finishReason, usage, toolCalls, response), { response: kept(response), usage }];
    }
    const events = [];
    let failed = null;
    const answer = streamText({ ...question, onError: ({ error }) => (failed = error) });
    for await (const event of answer.fullStream) events.push(event);
    if (failed) throw failed;
    const { text, finishReason, usage, toolCalls, response } = answer;
    return [
      said(await text, await finishReason, await usage, await toolCalls, await response),
      events.map((event) => (event.response ? { ...event, response: kept(event.response) } : event)),
    ];
  };
}

function said(text, finish, usage, calls, response) {
  const made = calls.map(({ toolCallId, toolName, input }) => [toolCallId, toolName, input]);
  return meaning(text, finish, [usage.inputTokens, usage.outputTokens], made, response.modelId);
}

// Without what the SDK itself makes up, or what the connection tells.
function kept({ headers, timestamp, ...response }) {
  return response;
}

const document = {};
for (const [name, model] of Object.entries(MODELS)) {
  document[name] = await told(by(model));
  if (!STEPS) Object.assign(document[name], await failures(by(model), [400, 429]));
}
emit(document);
