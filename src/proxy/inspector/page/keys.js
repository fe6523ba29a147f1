// The keyboard, the help that tells of it, the theme, and the divider.

const KEYS = [
  ["j  k  ↓  ↑", "the next call, the one before"],
  ["g  G", "the first call, the last"],
  ["PgDn  PgUp", "a page of calls"],
  ["Enter  →", "into the details"],
  ["Esc  ←", "back to the list; once more closes the details"],
  ["1 – 7", "a tab of the details"],
  ["/", "search"],
  ["f", "failed calls only"],
  ["x", "clear the filters"],
  ["c  u", "copy what the tab shows; the call as curl"],
  ["m", "mark a call, to compare the next one with it"],
  ["v", "view: list, waterfall, conversations"],
  ["e", "export what is shown"],
  ["t", "theme: system, light, dark"],
  ["?", "this help"],
];

function startKeys() {
  document.addEventListener("keydown", onKey);
  $("help-open").addEventListener("click", () => $("help").showModal());
  $("help-close").addEventListener("click", () => $("help").close());
  $("help").addEventListener("click", (event) => event.target === $("help") && $("help").close());
  $("help-keys").append(...KEYS.map(([keys, text]) => el("div", {},
    el("dt", {}, keys.split("  ").map((key) => el("kbd", {}, key))), el("dd", {}, text))));
  $("help-signs").append(...Object.entries(OUTCOMES).map(([name, [shape, text]]) =>
    el("li", {}, el("i", { class: `sign ${shape} o-${name}`, "aria-hidden": "true" }), el("b", {}, name), " ", text)));
  $("mark").addEventListener("click", toggleMark);
  $("detail-close").addEventListener("click", closeDetail);
  $("notice-close").addEventListener("click", () => ($("notice").hidden = true));
  $("skip").addEventListener("click", (event) => {
    event.preventDefault();
    $("list").focus();
  });
  window.addEventListener("hashchange", () => {
    shownCall.byHand = true;
    readFragment();
    drawFilter();
    drawOrder();
    drawList();
    askConversations();
    select(state.selected);
  });
}

function onKey(event) {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || $("help").open || !$("token").hidden) return;
  const target = event.target;
  if (event.key === "Escape") {
    event.preventDefault();
    back(target);
    return;
  }
  if (target.matches("input, select, textarea")) {
    if (event.key === "Enter" && target === $("q")) $("list").focus();
    return;
  }
  const inside = $("detail").contains(target);
  const action = actionOf(event.key, target, inside);
  if (!action) return;
  event.preventDefault();
  action();
}

function actionOf(key, target, inside) {
  const page = list.rows.inSight - 1;
  // A button does what it is for.
  if ((key === "Enter" || key === " ") && target.closest("button, summary")) return null;
  const always = {
    j: () => move(1), k: () => move(-1), g: () => move(-Infinity), G: () => move(Infinity),
    "/": () => ($("q").focus(), $("q").select()), f: toggleFailed, x: clearFilter, t: nextTheme,
    "?": () => $("help").showModal(), c: copyPanel, v: nextView, m: toggleMark, e: exportShown,
    u: () => copyCurl(null),
  };
  if (Object.hasOwn(always, key)) return always[key];
  if (/^[1-7]$/.test(key)) {
    const tab = shownCall.tabs[Number(key) - 1];
    return !$("detail").hidden && tab ? () => chooseTab(tab[0]) : null;
  }
  if (inside) return key === "ArrowLeft" && target === $("panel") ? () => $("list").focus() : null;
  if (target !== $("list") && target !== document.body && !$("list").contains(target)) return null;
  return {
    ArrowDown: () => move(1), ArrowUp: () => move(-1), PageDown: () => move(page), PageUp: () => move(-page),
    Home: () => move(-Infinity), End: () => move(Infinity), Enter: enter, ArrowRight: enter,
  }[key];
}

/** Into the details of the selected call. */
function enter() {
  if (state.selected === null || !state.bySeq.has(state.selected)) move(1);
  if (!$("detail").hidden) $("panel").focus();
}

/** Back: out of a field or the details, then to no details at all. */
function back(target) {
  if (target === $("q") && state.filter.q) setFilter({ q: "" });
  if (target.matches("input, select") || $("detail").contains(target)) $("list").focus();
  else if (!$("detail").hidden) closeDetail();
}

/** Copies what the open tab is about. */
function copyPanel() {
  const { details, tab } = shownCall;
  if ($("detail").hidden || !details || busy()) return;
  const selection = String(window.getSelection() || "");
  if (selection) return void copy(selection);
  const call = state.bySeq.get(shownCall.seq);
  const side = (one) => (one && one.text) || "";
  const texts = {
    mismatch: () => String(details.mismatch.message || details.mismatch.reason),
    conversation: () => $("panel").innerText, stream: () => chunksOf(details).list.map((chunk) => chunk.text).join(""),
    compare: () => $("panel").innerText,
    raw: () => [side(details.request), side(details.answer)].filter(Boolean).join("\n\n"),
    fault: () => JSON.stringify(faultOf(details), null, 2), line: () => indented(call.raw),
  };
  copy(texts[tab]());
}

const THEMES = { system: "Theme: as the system", light: "Theme: light", dark: "Theme: dark" };

function setTheme(name) {
  const known = Object.hasOwn(THEMES, name || "") ? name : "system";
  document.documentElement.dataset.theme = known;
  $("theme").setAttribute("aria-label", THEMES[known]);
  $("theme").title = THEMES[known] + " (t)";
}

function nextTheme() {
  const names = Object.keys(THEMES);
  const next = names[(names.indexOf(document.documentElement.dataset.theme) + 1) % names.length];
  setTheme(next);
  kept("localStorage", "loomrec-theme", next);
  say(THEMES[next]);
}

function startTheme() {
  setTheme(kept("localStorage", "loomrec-theme"));
  $("theme").addEventListener("click", nextTheme);
}

/** The divider between list and details: dragged, or moved by the arrow keys. */
function startDivider() {
  const divider = $("divider");
  const narrow = window.matchMedia("(max-width: 860px)");
  const set = (share) => {
    const part = Math.min(80, Math.max(20, share));
    $("split").style.setProperty("--list", part + "%");
    divider.setAttribute("aria-valuenow", String(Math.round(part)));
    return part;
  };
  const turn = () => divider.setAttribute("aria-orientation", narrow.matches ? "horizontal" : "vertical");
  narrow.addEventListener("change", turn);
  turn();
  let share = set(Number(kept("localStorage", "loomrec-split")) || 46);
  divider.addEventListener("pointerdown", (event) => {
    event.preventDefault();
    divider.setPointerCapture(event.pointerId);
  });
  divider.addEventListener("pointermove", (event) => {
    if (!divider.hasPointerCapture(event.pointerId)) return;
    const area = $("split").getBoundingClientRect();
    share = set(narrow.matches ? (100 * (event.clientY - area.top)) / area.height : (100 * (event.clientX - area.left)) / area.width);
  });
  divider.addEventListener("pointerup", () => kept("localStorage", "loomrec-split", String(share)));
  divider.addEventListener("keydown", (event) => {
    const by = { ArrowLeft: -2, ArrowUp: -2, ArrowRight: 2, ArrowDown: 2 }[event.key];
    if (!by) return;
    event.preventDefault();
    event.stopPropagation();
    share = set(share + by);
    kept("localStorage", "loomrec-split", String(share));
  });
}
