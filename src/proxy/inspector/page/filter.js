// The bar of filters: what is typed and chosen there, and what can be.

const CHOICES = {
  provider: { any: "Any provider", fixed: [] },
  model: { any: "Any model", fixed: [] },
  source: { any: "Any source", fixed: ["recording", "upstream", "script", "default", "fault", "nowhere"] },
  status: { any: "Any status", fixed: ["2xx", "3xx", "4xx", "5xx", "none"] },
};

function startFilter() {
  $("q").addEventListener("input", () => setFilter({ q: $("q").value }));
  for (const name of Object.keys(CHOICES)) {
    $("f-" + name).addEventListener("change", (event) => setFilter({ [name]: event.target.value }));
  }
  $("export").addEventListener("click", exportShown);
  $("f-failed").addEventListener("click", toggleFailed);
  $("f-clear").addEventListener("click", clearFilter);
  drawOptions();
}

const toggleFailed = () => setFilter({ failed: !state.filter.failed });

function clearFilter() {
  setFilter({ q: "", provider: "", model: "", source: "", status: "", failed: false });
  $("list").focus();
}

/** Changes the filter; the selected call stays where it is, if it is still shown. */
function setFilter(change) {
  Object.assign(state.filter, change);
  refilter();
  drawFilter();
  drawList();
  const place = state.shown.findIndex((call) => call.seq === state.selected);
  if (place >= 0) list.rows.reveal(place);
  writeFragment();
  say(`${number(state.shown.length)} of ${plural(state.calls.length, "call")}`);
}

/** Shows what the filter is. */
function drawFilter() {
  const { filter } = state;
  if ($("q").value !== filter.q) $("q").value = filter.q;
  for (const name of Object.keys(CHOICES)) {
    const select = $("f-" + name);
    if (select.value !== filter[name]) drawOptions();
    select.classList.toggle("set", Boolean(filter[name]));
  }
  $("f-failed").setAttribute("aria-pressed", String(filter.failed));
}

/** Fills the choices with what there is, and with what is chosen. */
function drawOptions() {
  for (const [name, { any, fixed }] of Object.entries(CHOICES)) {
    const known = new Set(fixed);
    for (const value of state.options[name] || []) known.add(value);
    if (state.filter[name]) known.add(state.filter[name]);
    const values = fixed.length ? [...known] : [...known].sort();
    const select = $("f-" + name);
    select.replaceChildren(el("option", { value: "" }, any), ...values.map((value) =>
      el("option", { value }, value === "none" ? "No answer" : oneLine(value).slice(0, 80))));
    select.value = state.filter[name];
  }
}
