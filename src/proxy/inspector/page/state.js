// What is known: the calls, which of them are shown, which one is selected; and the
// address's fragment that says the same.

/** How many calls are held; older ones go, some at a time. */
const MOST_CALLS = 200000;
const GONE_AT_ONCE = 10000;

const state = {
  run: null,
  calls: [],
  bySeq: new Map(),
  shown: [],
  gone: 0,
  skipped: 0,
  bad: 0,
  last: 0,
  lastRaw: null,
  selected: null,
  tab: null,
  faults: new Map(),
  filter: { q: "", provider: "", model: "", source: "", status: "", failed: false },
  options: { provider: new Set(), model: new Set(), source: new Set() },
  sums: noSums(),
  shownSums: noSums(),
  view: "list",
  order: { by: "", down: false },
  unarranged: false,
  begin: null,
  mark: null,
};

function noSums() {
  return { failed: 0, input: 0, output: 0, cost: 0, unknown: 0 };
}

const FAULT_EVENTS = new Set(["fired", "noticed", "recovered", "given_up"]);

/** What the list needs of a line; the line's text is kept for the details. */
function callOf(line, raw) {
  const fault = line.fault && typeof line.fault === "object" ? line.fault : null;
  const mismatch = line.mismatch && typeof line.mismatch === "object" ? line.mismatch : null;
  const more = line.more && typeof line.more === "object" ? line.more : null;
  const message = (mismatch && mismatch.message) || (more && more.message) || null;
  const call = {
    seq: line.seq, at: line.at || null, start: startOf(line.at), outcome: String(line.outcome || "unknown"), raw,
    status: typeof line.status === "number" ? line.status : null,
    source: line.source || null, provider: line.provider || null, model: line.model || null,
    path: line.path || (line.connection !== undefined ? "(connection)" : ""),
    step: line.step_id || null, asks: typeof line.asks === "string" ? line.asks : null, session: line.session || null, entry: line.entry || null, take: line.take,
    first: line.first_byte_ms, total: line.total_ms, streamed: line.streamed === true,
    input: line.input_tokens, output: line.output_tokens, cost: line.cost_usd, end: line.end,
    fault: fault ? String(fault.type || fault.id || "fault") : null,
    missed: line.outcome === "missed" || mismatch !== null,
    failed: failed(line),
    priced: state.run !== null && state.run.kind === "recording",
  };
  call.search = [
    call.path, call.asks, call.model, call.step, call.session, line.key, call.entry, message, call.outcome, call.provider,
    line.operation, line.answered_by, mismatch && mismatch.reason, call.fault, call.status, line.upstream,
  ].filter((text) => text !== null && text !== undefined).join("\n").toLowerCase();
  return call;
}

/** A time in ms since 1970, with the digits below a millisecond. */
function startOf(at) {
  const ms = typeof at === "string" ? Date.parse(at) : NaN;
  if (Number.isNaN(ms)) return null;
  const below = /\.\d{3}(\d+)/.exec(at);
  return ms + (below ? Number("0." + below[1]) : 0);
}

/** Whether a call failed: an error, no answer, one that was not sent to its end, or one that was no success. */
function failed(line) {
  const cut = line.end !== null && line.end !== undefined && line.end !== "complete";
  const failedAnswer = typeof line.answer === "string" && line.answer !== "complete";
  return cut || failedAnswer || line.kept === false || typeof line.status !== "number" || line.status >= 400;
}

/** Takes lines in. Returns whether the options of a filter changed. */
function takeIn(lines) {
  let options = false;
  for (const raw of lines) {
    let line;
    try {
      line = JSON.parse(raw);
    } catch {
      state.bad += 1;
      continue;
    }
    if (!line || typeof line !== "object" || typeof line.seq !== "number") {
      state.bad += 1;
      continue;
    }
    if (line.seq >= state.last) Object.assign(state, { last: line.seq, lastRaw: raw });
    if (line.outcome === "skipped") {
      state.skipped += Number(line.lines) || 0;
    } else if (FAULT_EVENTS.has(line.outcome)) {
      const events = state.faults.get(line.fault) || [];
      events.push(line);
      state.faults.set(line.fault, events);
    } else if (!state.bySeq.has(line.seq)) {
      options = add(callOf(line, raw)) || options;
    }
  }
  if (state.calls.length > MOST_CALLS) forget();
  return options;
}

function add(call) {
  call.place = state.calls.length + state.gone;
  state.calls.push(call);
  state.bySeq.set(call.seq, call);
  count(state.sums, call);
  wantQuestion(call);
  if (call.start !== null && (state.begin === null || call.start < state.begin)) state.begin = call.start;
  if (matches(call)) {
    state.shown.push(call);
    state.unarranged = true;
    count(state.shownSums, call);
  }
  let options = false;
  for (const name of ["provider", "model", "source"]) {
    const value = call[name];
    if (value && !state.options[name].has(value) && state.options[name].size < 500) {
      state.options[name].add(value);
      options = true;
    }
  }
  return options;
}

/** Whether a cost is not known: of an answer, which has counts of tokens, or of a take. */
function hasUnknownCost(call) {
  return call.cost == null && (typeof call.input === "number" || call.priced);
}

function count(sums, call) {
  sums.failed += call.failed ? 1 : 0;
  sums.input += call.input || 0;
  sums.output += call.output || 0;
  sums.cost += call.cost || 0;
  sums.unknown += hasUnknownCost(call) ? 1 : 0;
}

/** Lets the oldest go. */
function forget() {
  for (const call of state.calls.splice(0, GONE_AT_ONCE)) state.bySeq.delete(call.seq);
  state.gone += GONE_AT_ONCE;
  refilter();
}

/** Begins anew: another run answers now. */
function startOver() {
  Object.assign(state, { calls: [], shown: [], gone: 0, skipped: 0, bad: 0, last: 0, lastRaw: null, selected: null, begin: null, mark: null });
  Object.assign(conversations, { earlier: new Map(), after: 0, more: false });
  search.q = "";
  state.bySeq.clear();
  state.faults.clear();
  questions.left.length = 0;
  state.sums = noSums();
  refilter();
}

function matches(call) {
  const { words, provider, model, source, status, failed: only } = state.filter;
  if (only && !call.failed) return false;
  if (provider && call.provider !== provider) return false;
  if (model && call.model !== model) return false;
  if (source && (call.source || "nowhere") !== source) return false;
  if (status && statusClass(call) !== status) return false;
  return !words || search.found.has(call.seq) || words.every((word) => call.search.includes(word));
}

const statusClass = (call) => (call.status === null ? "none" : Math.floor(call.status / 100) + "xx");

/** Goes through all calls anew. */
function refilter() {
  searchOn(TYPED);
  state.filter.words = state.filter.q.toLowerCase().split(/\s+/).filter(Boolean);
  state.shownSums = noSums();
  state.shown = state.calls.filter(matches);
  for (const call of state.shown) count(state.shownSums, call);
  arrange();
}

const filtered = () => Object.entries(state.filter).some(([name, value]) => name !== "words" && Boolean(value));

/** The fragment that says what is looked at. */
function fragment() {
  const parts = new URLSearchParams();
  for (const name of ["q", "provider", "model", "source", "status"]) {
    if (state.filter[name]) parts.set(name, state.filter[name]);
  }
  if (state.filter.failed) parts.set("failed", "1");
  if (state.view !== "list") parts.set("view", state.view);
  if (state.order.by) parts.set("sort", (state.order.down ? "-" : "") + state.order.by);
  if (state.mark !== null) parts.set("with", state.mark);
  if (state.selected !== null) parts.set("call", state.selected);
  if (state.selected !== null && state.tab) parts.set("tab", state.tab);
  return parts.toString();
}

function writeFragment() {
  const text = fragment();
  if (location.hash.slice(1) !== text) history.replaceState(null, "", text ? "#" + text : location.pathname);
}

function readFragment() {
  const parts = new URLSearchParams(location.hash.slice(1));
  for (const name of ["q", "provider", "model", "source", "status"]) {
    state.filter[name] = (parts.get(name) || "").slice(0, 1000);
  }
  state.filter.failed = parts.get("failed") === "1";
  const numbered = (name) => {
    const seq = Number(parts.get(name));
    return Number.isSafeInteger(seq) && seq > 0 ? seq : null;
  };
  Object.assign(state, { selected: numbered("call"), mark: numbered("with") });
  const [, down, by] = /^(-?)(\w*)$/.exec(parts.get("sort") || "") || [null, "", ""];
  state.order = { by: Object.hasOwn(SORTED_BY, by) ? by : "", down: down === "-" };
  state.view = VIEWS.some(([name]) => name === parts.get("view")) ? parts.get("view") : "list";
  state.tab = parts.get("tab");
  refilter();
}
