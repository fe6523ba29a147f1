// The details of the selected call: its facts, and a tab for each part that there is.

const TABS = [
  ["mismatch", "Mismatch", (details) => details.mismatch, drawMismatch],
  ["conversation", "Conversation", hasConversation, drawConversation],
  ["messages", "Messages", (details) => exchangedOf(details) !== null, drawExchanged],
  ["stream", "Stream", (details) => chunksOf(details) !== null, drawStream],
  ["raw", "Raw", (details) => details.request || details.answer, drawRaw],
  ["fault", "Fault", (details) => faultOf(details) !== null, drawFault],
  ["line", "Line", (details) => details.line, drawLine],
  ["compare", "Compare", canCompare, drawCompare],
];

/** What is shown: the call's number, its details, its tabs, what to undo when it goes. */
const shownCall = { seq: null, details: null, tabs: [], tab: null, asked: null, timer: 0, drop: null };

const faultOf = (details) => details.fault || (details.line && details.line.fault) || null;
const answerOf = (details) => details.answer || null;
const chunksOf = (details) => {
  const chunks = answerOf(details) && answerOf(details).chunks;
  return chunks && Array.isArray(chunks.list) && chunks.list.length ? chunks : null;
};

/** Shows the call that is selected, or nothing. */
function showCall() {
  const call = state.selected === null ? null : state.bySeq.get(state.selected);
  clearTimeout(shownCall.timer);
  if (shownCall.asked) shownCall.asked.abort();
  const open = Boolean(call);
  $("detail").hidden = !open;
  $("divider").hidden = !open;
  $("split").classList.toggle("open", open);
  shownCall.seq = open ? call.seq : null;
  if (!open) return;
  drawMark();
  $("detail").setAttribute("aria-busy", "true");
  drawHead(call, null);
  // Who runs through the list asks only for the call where the run ends.
  shownCall.timer = setTimeout(() => loadCall(call), shownCall.details ? 60 : 0);
}

async function loadCall(call) {
  const asked = new AbortController();
  shownCall.asked = asked;
  let details;
  try {
    details = await askCall(call, asked.signal);
  } catch (error) {
    if (asked.signal.aborted || shownCall.seq !== call.seq) return;
    details = { request: null, answer: null, why_no_bodies: `The details are not available: ${error.message}.` };
  }
  if (asked.signal.aborted || shownCall.seq !== call.seq) return;
  try {
    details.line = JSON.parse(call.raw);
  } catch {
    details.line = details.line || null;
  }
  if (!details.mismatch && details.line) details.mismatch = details.line.mismatch || null;
  shownCall.details = details;
  drawHead(call, details);
  drawTabs(call);
  $("detail").setAttribute("aria-busy", "false");
}

function drawHead(call, details) {
  const line = details && details.line;
  const operation = line && line.operation ? line.operation : "";
  $("detail-title").replaceChildren(
    el("span", { class: "number" }, "#" + call.seq), " ",
    el("span", { class: "where", title: oneLine(call.path) }, oneLine(call.step || operation || call.path)),
    el("span", { class: "status" + (call.failed ? " bad" : "") }, call.status === null ? "no answer" : String(call.status)),
  );
  if (!line) return;
  const fact = (name, value, title) => (value === null || value === undefined || value === "" ? null
    : el("div", { title }, el("dt", {}, name), el("dd", {}, visible(String(value)))));
  const tokens = line.input_tokens || line.output_tokens
    ? `${number(line.input_tokens || 0)} in, ${number(line.output_tokens || 0)} out` : null;
  const entry = line.entry ? (/^[0-9a-f]{64}/.test(line.entry) ? line.entry.slice(0, 12) : line.entry) : null;
  $("facts").replaceChildren(el("dl", {},
    fact("outcome", line.outcome + (line.matched_by ? ` by ${line.matched_by.replace("_", " ")}` : "")),
    fact("call", line.method ? `${line.method} ${line.path}` : null),
    fact("upstream", [line.upstream, line.provider].filter((name, place, all) => name && all.indexOf(name) === place).join(", ")),
    fact("model", line.answered_by && line.answered_by !== line.model ? `${line.model || "?"} → ${line.answered_by}` : line.model),
    fact("entry", entry && line.take > 1 ? `${entry}, take ${line.take}` : entry, line.entry),
    fact("session", line.session), fact("step", line.step_id),
    fact("first byte", typeof line.first_byte_ms === "number" ? duration(line.first_byte_ms) : null),
    fact("total", typeof line.total_ms === "number" ? duration(line.total_ms) : null),
    fact("sent", typeof line.bytes === "number" && line.bytes ? `${byteSize(line.bytes)} in ${plural(line.chunks || 1, "chunk")}` : null),
    fact("tokens", tokens), fact("cost", line.cost_usd ? money(line.cost_usd) : null),
    fact("attempt", line.attempt > 1 ? line.attempt : null),
    fact("end", line.end && line.end !== "complete" ? line.end.replace("_", " ") : null),
    fact("answer", line.answer && line.answer !== "complete" ? line.answer.replaceAll("_", " ") + (line.answer_reason ? `: ${line.answer_reason}` : "") : null),
    fact("kept", line.kept === false ? "no" : null),
  ));
}

function drawTabs(call) {
  const { details } = shownCall;
  shownCall.tabs = TABS.filter(([, , there]) => Boolean(there(details)));
  $("tabs").replaceChildren(...shownCall.tabs.map(([name, title], place) => el("button", {
    id: "tab-" + name, type: "button", role: "tab", "aria-controls": "panel", title: `${title} (${place + 1})`,
    on: { click: () => chooseTab(name), keydown: moveTab },
  }, title)));
  const names = shownCall.tabs.map(([name]) => name);
  const wanted = names.includes(state.tab) ? state.tab : null;
  // A missed call is about its mismatch, whatever was looked at before.
  const passing = wanted && wanted !== "compare" && call.missed && names[0] === "mismatch" && !shownCall.byHand;
  shownCall.byHand = false;
  openTab(wanted && !passing ? wanted : telling(names, call));
}

/** Whether what is shown is still that of the call before. */
const busy = () => $("detail").getAttribute("aria-busy") === "true";

/** The tab that says most. */
function telling(names, call) {
  if (call.missed && names.includes("mismatch")) return "mismatch";
  if (call.outcome === "faulted" && names.includes("fault")) return "fault";
  return ["conversation", "messages", "raw", "line"].find((name) => names.includes(name)) || names[0];
}

function chooseTab(name) {
  state.tab = name;
  // Of a call that is on its way it opens this one.
  shownCall.byHand = busy();
  openTab(name);
  writeFragment();
}

function openTab(name) {
  shownCall.tab = name;
  for (const button of $("tabs").children) {
    const chosen = button.id === "tab-" + name;
    button.setAttribute("aria-selected", String(chosen));
    button.tabIndex = chosen ? 0 : -1;
  }
  if (shownCall.drop) shownCall.drop();
  shownCall.drop = null;
  const panel = $("panel");
  panel.className = "panel p-" + name;
  panel.setAttribute("aria-labelledby", "tab-" + name);
  panel.replaceChildren();
  panel.scrollTop = 0;
  const tab = shownCall.tabs.find(([known]) => known === name);
  if (tab) shownCall.drop = tab[3](panel, shownCall.details) || null;
}

function moveTab(event) {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!step) return;
  event.preventDefault();
  event.stopPropagation();
  const names = shownCall.tabs.map(([name]) => name);
  const next = names[(names.indexOf(shownCall.tab) + step + names.length) % names.length];
  chooseTab(next);
  $("tab-" + next).focus();
}

function closeDetail() {
  state.selected = null;
  state.tab = null;
  showCall();
  list.rows.now();
  writeFragment();
  $("list").focus();
}

/** What happened with a fault: what it is, and what became of it. */
function drawFault(panel, details) {
  const fault = faultOf(details);
  drawWhy(panel, details);
  panel.append(el("p", { class: "lead" }, fault.only_delays
    ? "A fault delayed this answer." : "A fault affected this answer."));
  panel.append(table(Object.entries(fault).filter(([, value]) => value !== null)
    .map(([name, value]) => [name.replace(/_/g, " "), typeof value === "object" ? JSON.stringify(value) : String(value)])));
  const events = state.faults.get(fault.id) || [];
  if (!events.length) return;
  panel.append(el("h3", {}, "Outcome"), table(events.map((event) =>
    [String(event.outcome).replace("_", " "), `${duration(event.at_ms)} into the run${event.by ? `, by ${event.by}` : ""}`])));
}

/** Why there is neither request nor answer. */
function drawWhy(panel, details) {
  if (details.why_no_bodies && !details.request && !details.answer) {
    panel.append(el("p", { class: "why" }, "No request and no answer: ", visible(details.why_no_bodies), "."));
  }
}

function drawLine(panel, details) {
  drawWhy(panel, details);
  const call = state.bySeq.get(shownCall.seq);
  const text = indented(call ? call.raw : JSON.stringify(details.line));
  panel.append(el("div", { class: "over" }, el("h3", {}, "The journal's line"), copyButton(() => text, "Copy the line")), block(text));
}

/** A table of names and values. */
function table(pairs) {
  return el("table", { class: "pairs" }, el("tbody", {}, pairs.map(([name, value]) =>
    el("tr", {}, el("th", { scope: "row" }, visible(name)), el("td", {}, visible(value))))));
}
