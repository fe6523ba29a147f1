// The program under test: clients that are built when this module is imported, as many programs do.

import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';

const openai = new OpenAI();
const anthropic = new Anthropic();

/** Asks OpenAI and returns the answer. */
export async function ask(prompt) {
  const answer = await openai.chat.completions.create(chat(prompt));
  return answer.choices[0].message.content;
}

/** Asks OpenAI and returns the answer that was streamed. */
export async function askStreamed(prompt) {
  const stream = await openai.chat.completions.create({ ...chat(prompt), stream: true });
  let text = '';
  for await (const chunk of stream) text += chunk.choices[0]?.delta?.content ?? '';
  return text;
}

/** Asks OpenAI's Responses and returns the answer. */
export async function respond(prompt) {
  return (await openai.responses.create({ model: 'gpt-4o-mini', input: prompt })).output_text;
}

/** Asks Anthropic and returns the answer. */
export async function askClaude(prompt) {
  return (await anthropic.messages.create(message(prompt))).content[0].text;
}

/** Asks Anthropic and returns the answer that was streamed. */
export async function askClaudeStreamed(prompt) {
  return (await anthropic.messages.stream(message(prompt)).finalMessage()).content[0].text;
}

/** Asks OpenAI, and has an answer of its own if that fails: the error is swallowed. */
export async function askOrGuess(prompt) {
  return ask(prompt).catch(() => 'I do not know.');
}

function chat(prompt) {
  return { model: 'gpt-4o-mini', messages: [{ role: 'user', content: prompt }] };
}

function message(prompt) {
  return { model: 'claude-haiku-4-5', max_tokens: 100, messages: [{ role: 'user', content: prompt }] };
}
