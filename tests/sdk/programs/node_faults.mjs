// What openai-node does when it meets a fault: see faults.py.
import { readFileSync } from "node:fs";
import OpenAI from "openai";
import { emit } from "./show.mjs";
import { SCHEMA } from "./turns.mjs";

const WAYS = ["complete", "streamed", "tool", "tool_streamed"];
const AT_ONCE = 16;
const PATIENCE = 30; // seconds, where a case does not bring its own
const ENOUGH = 6; // seconds after which a call that does not end is left
const TOOL = { type: "function", function: { name: "get_weather", parameters: SCHEMA } };

const said = (text, finish, out, tools) => ({ text: text ?? "", finish, out, tools });

function client(timeout) {
  const openai = new OpenAI({ timeout: timeout * 1000 });
  return async (way, headers, signal) => {
    const asked = way.startsWith("tool") ? "weather please" : "tell me of a fault";
    // A recorded stream is for those who ask for one.
    const content = way.endsWith("streamed") ? `${asked}, bit by bit` : asked;
    const question = { model: "gpt-4o-mini", messages: [{ role: "user", content }] };
    if (way.startsWith("tool")) question.tools = [TOOL];
    if (!way.endsWith("streamed")) {
      const answer = await openai.chat.completions.create(question, { headers, signal });
      const [choice] = answer.choices;
      const calls = (choice.message.tool_calls ?? []).map((c) => [c.function.name, c.function.arguments]);
      return said(choice.message.content, choice.finish_reason, answer.usage.completion_tokens, calls);
    }
    const wanted = { ...question, stream: true, stream_options: { include_usage: true } };
    let [text, finish, out] = ["", null, null];
    const tools = [];
    for await (const event of await openai.chat.completions.create(wanted, { headers, signal })) {
      out = event.usage?.completion_tokens ?? out;
      for (const choice of event.choices) {
        text += choice.delta?.content ?? "";
        finish = choice.finish_reason ?? finish;
        for (const call of choice.delta?.tool_calls ?? []) {
          const known = (tools[call.index] ??= ["", ""]);
          known[0] += call.function.name ?? "";
          known[1] += call.function.arguments ?? "";
        }
      }
    }
    return said(text, finish, out, tools);
  };
}

async function attempt(ask, way, headers, bounded) {
  const began = performance.now();
  const leave = new AbortController();
  const timer = bounded ? setTimeout(() => leave.abort(), ENOUGH * 1000) : undefined;
  let outcome;
  try {
    outcome = { got: await ask(way, headers, leave.signal) };
  } catch (error) {
    outcome = { raises: error.constructor.name, message: error.message.slice(0, 200) };
  }
  clearTimeout(timer);
  // A stream that is left ends without an error: it had not ended by itself.
  if (leave.signal.aborted) outcome = { waits: true };
  return { ...outcome, ms: Math.round(performance.now() - began) };
}

async function walk(kase, once) {
  const ask = client(kase.timeout ?? PATIENCE);
  const session = { "x-loomrec-session": kase.name };
  const faulted = { ...session, "x-loomrec-fault": kase.fault };
  const seen = await attempt(ask, kase.ask, faulted, kase.timeout !== undefined);
  if (!once) seen.then = await attempt(ask, kase.ask, session);
  else if (!seen.got) seen.then = await attempt(ask, kase.ask, faulted);
  return seen;
}

if (process.argv.length < 3) {
  const document = {};
  for (const way of WAYS) document[way] = await client(PATIENCE)(way, {});
  emit(document);
} else {
  // What the SDK says beside its errors is not for stdout.
  console.error = () => {};
  const { cases, once } = JSON.parse(readFileSync(process.argv[2], "utf8"));
  // What an SDK loads when it is first used is no part of a fault's time.
  await client(PATIENCE)("complete", {});
  const document = Object.fromEntries(cases.map(({ name }) => [name, null]));
  const waiting = [...cases];
  const work = async () => {
    for (let next = waiting.shift(); next; next = waiting.shift()) document[next.name] = await walk(next, once);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  emit(document);
}
