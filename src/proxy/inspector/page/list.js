// The list of calls: its columns, what is in sight, which row is selected.

const COLUMNS = [
  ["seq", "#", "right"], ["time", "Time", "right"], ["outcome", "Outcome", ""], ["status", "Status", "right"],
  ["provider", "Provider", ""], ["model", "Model", ""], ["call", "Step, question or path", ""],
  ["first", "First byte", "right"], ["total", "Total", "right"], ["tokens", "Tokens", "right"], ["cost", "Cost", "right"],
  ["fall", "Time in the run", ""],
];
const ROW_HEIGHT = 26;

/** Outcomes: the shape of their sign, and what they mean. */
const OUTCOMES = {
  served: ["ring", "answered from a recording"],
  recorded: ["disc", "answered by the upstream, and recorded"],
  forwarded: ["arrow", "answered by the upstream, not kept"],
  scripted: ["square", "answered by a script"],
  default: ["square", "answered with the placeholder"],
  missed: ["diamond", "no recording answers it"],
  faulted: ["bolt", "a fault replaced the answer"],
  unscripted: ["diamond", "the script had no answer"],
  unreachable: ["cross", "no upstream answered"],
  refused: ["cross", "refused"],
  upgrade_refused: ["cross", "a WebSocket, refused"],
  left: ["cross", "its client left before there was an answer"],
  unanswered: ["cross", "loomrec never answered it"],
};

const list = { rows: null, stick: true, slowest: 1, newest: 0 };

function startList() {
  $("columns").append(...COLUMNS.map(([name, title, side]) =>
    el("span", { role: "columnheader", id: "head-" + name, class: `c-${name} ${side}` }, SORTED_BY[name]
      ? el("button", { type: "button", class: "sort", title: `Sort by ${title === "#" ? "number" : title.toLowerCase()}`, on: { click: () => sortBy(name) } }, title)
      : title)));
  list.rows = new Rows({ scroller: $("list"), body: $("rows"), height: ROW_HEIGHT, make: makeRow, fill: fillRow, drawn: rowsDrawn, before: spanRows });
  $("list").addEventListener("scroll", () => {
    list.stick = list.rows.atEnd && asTheyCame();
    if (list.stick) list.newest = state.shown.length;
    showToEnd();
  }, { passive: true });
  $("rows").addEventListener("click", (event) => {
    const row = event.target.closest(".row");
    if (row && row.call) select(row.call.seq);
  });
  $("to-end").addEventListener("click", () => {
    list.stick = true;
    list.rows.toEnd();
    $("list").focus();
  });
}

/** Rows came into sight. */
function rowsDrawn() {
  tellChosen();
  drawAxis();
  askSoon();
}

/** Says which row is selected, where it is in the document. */
function tellChosen() {
  const row = state.selected === null ? null : $("call-" + state.selected);
  if (row) $("list").setAttribute("aria-activedescendant", row.id);
  else $("list").removeAttribute("aria-activedescendant");
}

function makeRow() {
  const row = el("div", { class: "row", role: "row" }, COLUMNS.map(([name, , side]) =>
    el("span", { role: "gridcell", class: `c-${name} ${side}` })));
  row.cells = Object.fromEntries(COLUMNS.map(([name], place) => [name, row.children[place]]));
  row.cells.outcome.append(el("i", { class: "sign", "aria-hidden": "true" }), el("span", {}));
  row.cells.total.append(el("span", {}), el("i", { class: "length", "aria-hidden": "true" }));
  row.cells.call.append(el("span", { class: "branch" }), el("span", { class: "mark-fault" }), el("bdi", {}));
  row.cells.fall.append(el("i", { class: "fall-bar", "aria-hidden": "true" }), el("span", { class: "fall-text" }));
  return row;
}

function fillRow(row, index) {
  const call = state.shown[index];
  if (!call) return;
  const chosen = call.seq === state.selected;
  row.classList.toggle("odd-row", index % 2 === 1);
  row.classList.toggle("selected", chosen);
  row.setAttribute("aria-selected", String(chosen));
  row.setAttribute("aria-rowindex", String(index + 2));
  drawTotal(row, call);
  drawBranch(row, call, index);
  drawFall(row, call);
  if (row.call === call && !row.stale) return;
  Object.assign(row, { call, stale: false });
  row.id = "call-" + call.seq;
  row.classList.toggle("failed", call.failed);
  row.classList.toggle("marked", call.seq === state.mark);
  const cells = row.cells;
  setText(cells.seq, String(call.seq));
  setText(cells.time, clock(call.at));
  const sign = OUTCOMES[call.outcome] || ["square", ""];
  cells.outcome.firstChild.className = `sign ${sign[0]} o-${call.outcome.replace(/[^a-z]/g, "")}`;
  setText(cells.outcome.lastChild, plain(call.outcome));
  cells.outcome.title = sign[1] + (call.source ? ` (source: ${plain(call.source)})` : "");
  setText(cells.status, call.status === null ? "—" : String(call.status));
  setText(cells.provider, plain(call.provider || ""));
  setText(cells.model, oneLine(call.model || ""));
  cells.model.title = oneLine(call.model || "");
  const where = whereOf(call);
  setText(cells.call.lastChild, oneLine(where));
  setText(cells.call.children[1], call.fault && call.outcome !== "faulted" ? call.fault : "");
  cells.call.classList.toggle("is-step", where !== call.path);
  cells.call.title = oneLine(where === call.path ? where : `${where} (${call.path})`);
  setText(cells.first, call.first === null || call.first === undefined ? "" : duration(call.first));
  const tokens = call.input || call.output;
  setText(cells.tokens, tokens ? `${short(call.input || 0)} → ${short(call.output || 0)}` : "");
  setText(cells.cost, hasUnknownCost(call) ? "unknown" : call.cost ? money(call.cost) : "");
}

/** How long it took: said, and drawn against the longest that is shown (by roots). */
function drawTotal(row, call) {
  const cell = row.cells.total;
  const known = typeof call.total === "number";
  setText(cell.firstChild, known ? duration(call.total) : "");
  const width = known ? Math.max(2, Math.round(100 * Math.sqrt(call.total / list.slowest))) : 0;
  cell.lastChild.style.width = Math.min(100, width) + "%";
}

/** 17:04:05.123, in the reader's time zone. */
function clock(at) {
  const time = at ? new Date(at) : null;
  if (!time || Number.isNaN(time.getTime())) return "";
  const two = (value) => String(value).padStart(2, "0");
  const ms = String(time.getMilliseconds()).padStart(3, "0");
  return `${two(time.getHours())}:${two(time.getMinutes())}:${two(time.getSeconds())}.${ms}`;
}

/** Draws the list and the sums after something changed. */
function drawList() {
  if (state.unarranged) arrange();
  const { shown } = state;
  list.slowest = 1;
  for (let place = Math.max(0, shown.length - 2000); place < shown.length; place += 1) {
    if (shown[place].total > list.slowest) list.slowest = shown[place].total;
  }
  if (list.stick) list.newest = shown.length;
  list.rows.resize(shown.length);
  $("list").setAttribute("aria-rowcount", String(shown.length + 1));
  if (list.stick && asTheyCame() && state.run && state.run.live) list.rows.toEnd();
  showToEnd();
  drawSums();
}

function showToEnd() {
  const fresh = state.shown.length - list.newest;
  const button = $("to-end");
  button.hidden = !(state.run && state.run.live) || fresh <= 0 || !asTheyCame();
  if (!button.hidden) setText(button, `↓ ${number(fresh)} new`);
}

function drawSums() {
  const sums = filtered() ? state.shownSums : state.sums;
  const all = state.calls.length;
  setText($("sum-calls"), number(filtered() ? state.shown.length : all));
  setText($("sum-failed"), number(sums.failed));
  $("sum-failed-box").classList.toggle("some", sums.failed > 0);
  setText($("sum-in"), short(sums.input));
  setText($("sum-out"), short(sums.output));
  const known = sums.unknown && sums.cost ? `≥ ${money(sums.cost)}` : money(sums.cost);
  setText($("sum-cost"), sums.unknown && !sums.cost ? "unknown" : known);
  $("totals").classList.toggle("filtered", filtered());
  const gone = state.gone ? `, ${number(state.gone)} older ones let go` : "";
  const progress = searchProgress() + conversationProgress();
  setText($("shown"), (filtered() ? `${number(state.shown.length)} of ${number(all)}${gone}` : `${plural(all, "call")}${gone}`) + progress);
  $("export").disabled = state.shown.length === 0;
  $("f-clear").hidden = !filtered();
  const nothing = state.shown.length === 0;
  $("empty").hidden = !nothing;
  if (nothing) setText($("empty"), emptyText());
}

function emptyText() {
  if (state.calls.length) return search.more ? "Searching…" : "No call matches these filters.";
  if (!state.run) return "";
  return state.run.live ? "No calls yet. They appear here as they come." : "There are no calls in it.";
}

/** Selects a call, shows it, and keeps it in sight. */
function select(seq) {
  state.selected = seq;
  const place = state.shown.findIndex((call) => call.seq === seq);
  if (place >= 0) {
    if (state.run && state.run.live) list.stick = place === state.shown.length - 1 && list.stick;
    list.rows.reveal(place);
  } else list.rows.now();
  writeFragment();
  showCall();
}

/** Moves the selection by some rows among those that are shown. */
function move(by) {
  const { shown } = state;
  if (!shown.length) return;
  const place = shown.findIndex((call) => call.seq === state.selected);
  const from = place < 0 ? (by > 0 ? -1 : shown.length) : place;
  const next = Math.min(shown.length - 1, Math.max(0, from + by));
  select(shown[next].seq);
}
