// The order of the list: as the calls came, by a column, or as conversations; and its three views.

const VIEWS = [["list", "List"], ["waterfall", "Waterfall"], ["conversations", "Conversations"]];

const whereOf = (call) => [call.step, call.asks].filter(Boolean).join(" · ") || call.path;

/** What a column is sorted by; those that begin with the largest. */
const SORTED_BY = {
  seq: (call) => call.seq, time: (call) => call.start, outcome: (call) => call.outcome, status: (call) => call.status,
  provider: (call) => call.provider, model: (call) => call.model, call: whereOf, first: (call) => call.first,
  total: (call) => call.total, tokens: (call) => (call.input || call.output ? (call.input || 0) + (call.output || 0) : null),
  cost: (call) => call.cost,
};
const LARGEST_FIRST = new Set(["first", "total", "tokens", "cost"]);

function startOrder() {
  $("views").append(...VIEWS.map(([name, title]) => el("button", { type: "button", class: "toggle", id: "view-" + name, on: {
    click: () => setView(name) } }, title)));
  $("sort").append(el("option", { value: "" }, "As they came"), ...COLUMNS.filter(([name]) => SORTED_BY[name]).map(([name, title]) =>
    el("option", { value: name }, `By ${title === "#" ? "number" : title.toLowerCase()}`)));
  $("sort").addEventListener("change", () => setSort($("sort").value, LARGEST_FIRST.has($("sort").value)));
  $("sort-turn").addEventListener("click", () => setSort(state.order.by, !state.order.down));
}

/** By a column: first its usual direction, then the other one, then no order. */
function sortBy(name) {
  const { by, down } = state.order;
  const usual = LARGEST_FIRST.has(name);
  if (by !== name) setSort(name, usual);
  else if (down === usual) setSort(name, !usual);
  else setSort("", false);
}

function setSort(by, down) {
  state.order = { by: SORTED_BY[by] ? by : "", down };
  if (state.view === "conversations") state.view = "list";
  orderAnew();
  const title = by ? $("sort").selectedOptions[0].textContent.toLowerCase() : "as they came";
  say(`sorted ${title}${by && down ? ", largest first" : ""}`);
}

function setView(name) {
  state.view = VIEWS.some(([known]) => known === name) ? name : "list";
  if (state.view === "conversations") state.order = { by: "", down: false };
  orderAnew();
  say(`view: ${state.view}`);
}

function nextView() {
  const names = VIEWS.map(([name]) => name);
  setView(names[(names.indexOf(state.view) + 1) % names.length]);
}

function orderAnew() {
  refilter();
  drawOrder();
  for (const row of list.rows.pool) row.stale = true;
  drawList();
  askConversations();
  const place = state.shown.findIndex((call) => call.seq === state.selected);
  if (place >= 0) list.rows.reveal(place);
  writeFragment();
}

/** Shows which view and which order it is. */
function drawOrder() {
  for (const [name] of VIEWS) $("view-" + name).setAttribute("aria-pressed", String(state.view === name));
  const { by, down } = state.order;
  $("sort").value = by;
  $("sort").classList.toggle("set", by !== "");
  $("sort-turn").hidden = by === "";
  setText($("sort-turn"), down ? "↓" : "↑");
  $("sort-turn").setAttribute("aria-label", down ? "Order: largest first" : "Order: smallest first");
  for (const [name] of COLUMNS) {
    const head = $("head-" + name);
    if (name === by) head.setAttribute("aria-sort", down ? "descending" : "ascending");
    else head.removeAttribute("aria-sort");
  }
  const tree = state.view === "conversations";
  $("list").setAttribute("role", tree ? "treegrid" : "grid");
  $("list").className = `grid view-${state.view}`;
}

/** Whether new calls belong at the end. */
const asTheyCame = () => state.view === "list" && state.order.by === "";

/** Puts what is shown in its order. */
function arrange() {
  state.unarranged = false;
  if (state.view === "conversations") {
    state.shown = treeOrder(state.shown);
    return;
  }
  const by = state.order.by || (state.view === "waterfall" ? "time" : "");
  if (!by) return;
  const turn = state.order.down ? -1 : 1;
  const keyed = state.shown.map((call) => [SORTED_BY[by](call), call]);
  const missing = (value) => value === null || value === undefined || value === "";
  keyed.sort(([a, one], [b, other]) => {
    // What is not known comes last in either direction.
    if (missing(a) || missing(b)) return missing(a) - missing(b) || one.place - other.place;
    if (a === b) return one.place - other.place;
    return (typeof a === "string" ? a.localeCompare(b, "en", { numeric: true }) : a - b) * turn || one.place - other.place;
  });
  state.shown = keyed.map(([, call]) => call);
}
