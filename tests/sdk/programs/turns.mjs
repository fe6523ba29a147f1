// The questions of turns.py, for Node: see there.
import { emit, failure } from "./show.mjs";

const SCENES = { say: "tell me something", call: "weather please" };
export const SCHEMA = {
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
};
const DELIVERIES = ["complete", "streamed"];
export const STEPS = process.argv.includes("--steps");
const wanted = DELIVERIES.filter((delivery) => process.argv.includes(delivery));
const deliveries = wanted.length ? wanted : DELIVERIES;

export function meaning(text, finish_reason, usage, tool_calls, model = null) {
  return { text: text ?? "", finish_reason, usage, model, tool_calls };
}

async function attempt(call) {
  return call().then((value) => ({ value }), failure);
}

// Both scenes in each delivery. `ask` takes a turn and gives [meaning, saw].
export async function told(ask) {
  const document = {};
  for (const delivery of deliveries) {
    document[delivery] = {};
    for (const [scene, prompt] of Object.entries(SCENES)) {
      const headers = STEPS ? { "x-loomrec-step-id": scene } : {};
      const streamed = delivery === "streamed";
      const [said, saw] = await ask({ prompt, streamed, tools: scene === "call", headers });
      document[delivery][scene] = STEPS ? said : { meaning: said, saw };
    }
  }
  return document;
}

// How an error of each status is raised, and how a stream ends in each scene.
export async function failures(ask, statuses, scenes = []) {
  const document = { errors: {}, broken: {} };
  for (const status of statuses) {
    document.errors[status] = await attempt(() => ask({ prompt: `status ${status}`, headers: {} }));
  }
  for (const scene of scenes) {
    const turn = { prompt: `please ${scene}`, streamed: true, headers: {} };
    document.broken[scene] = await attempt(() => ask(turn));
  }
  return document;
}

export async function run(ask, statuses, scenes) {
  const document = await told(ask);
  if (!STEPS && deliveries.length === 2) Object.assign(document, await failures(ask, statuses, scenes));
  emit(document);
}
