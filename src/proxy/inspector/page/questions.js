// What calls ask. Journal lines hold no text, so it is requested for the calls that came, those in
// sight first, a few at a time.

/** How many calls are named in one request. */
const QUESTIONS_AT_ONCE = 100;
/** How many of the latest calls are asked about without being in sight. */
const QUESTIONS_AHEAD = 1000;
/** The outcomes of calls whose requests may be kept. */
const KEPT_REQUESTS = new Set(["served", "recorded", "missed"]);

/** The latest calls of unknown question; whether a request is under way; the timer of the next one. */
const questions = { left: [], busy: false, timer: 0 };

/** Whether what is looked at may know questions that its lines do not hold. */
function hasQuestions() {
  const { run } = state;
  return run !== null && (run.kind === "run" || (run.kind === "journal" && (run.files || []).length > 1));
}

/** Notes a call whose question is not known. */
function wantQuestion(call) {
  if (call.asks !== null || !KEPT_REQUESTS.has(call.outcome)) return;
  call.wanted = true;
  questions.left.push(call);
  if (questions.left.length > 2 * QUESTIONS_AHEAD) questions.left.splice(0, questions.left.length - QUESTIONS_AHEAD);
}

/** The next calls to ask about: those in sight, then the latest. */
function nextQuestions() {
  const next = new Set(list.rows.pool.map((row) => row.call).filter((call) => call && call.wanted));
  for (let place = questions.left.length - 1; place >= 0 && next.size < QUESTIONS_AT_ONCE; place -= 1) {
    if (questions.left[place].wanted) next.add(questions.left[place]);
  }
  return [...next].slice(0, QUESTIONS_AT_ONCE);
}

/** Asks soon, if there is anything to ask about. */
function askSoon(pause = 50) {
  if (questions.busy || questions.timer || document.hidden || !hasQuestions()) return;
  questions.timer = setTimeout(() => {
    questions.timer = 0;
    askQuestions();
  }, pause);
}

async function askQuestions() {
  const calls = nextQuestions();
  if (!calls.length) {
    questions.left.length = 0;
    return;
  }
  questions.busy = true;
  const began = performance.now();
  for (const call of calls) call.wanted = false;
  try {
    const response = await ask("questions?seq=" + calls.map((call) => call.seq).join(","));
    if (response.ok) takeQuestions(calls, (await response.json()).questions);
    // What loomrec reads for this page takes it a third of the time at most.
    questions.busy = false;
    askSoon(Math.max(50, 2 * (performance.now() - began)));
  } catch {
    // loomrec is gone, or refuses: following the calls says so.
    questions.busy = false;
  }
}

/** Shows the questions of calls. */
function takeQuestions(calls, answers) {
  const asks = new Map(answers.map((answer) => [answer.seq, answer.asks]));
  for (const call of calls) {
    const text = asks.get(call.seq);
    if (typeof text !== "string") continue;
    call.asks = text;
    call.search += "\n" + text.toLowerCase();
    for (const row of list.rows.pool) if (row.call === call) row.stale = true;
  }
  if (state.filter.words.length) {
    refilter();
    drawList();
  } else list.rows.draw();
}

function startQuestions() {
  document.addEventListener("visibilitychange", () => askSoon());
}
