// Two calls compared, as `loomrec diff` compares them: one is marked, the other one selected.

const NO_MARK = "Compare…";

const canCompare = () => state.mark !== null && state.mark !== shownCall.seq && state.bySeq.has(state.mark);

/** Marks the selected call, or takes the mark away. */
function toggleMark() {
  const seq = shownCall.seq;
  if (seq === null) return;
  state.mark = state.mark === seq ? null : seq;
  // The next call that is selected is compared.
  if (state.mark !== null) state.tab = "compare";
  for (const row of list.rows.pool) row.stale = true;
  list.rows.now();
  drawMark();
  writeFragment();
  say(state.mark === null ? "No call is marked" : `Call ${seq} is marked: select the one to compare it with`);
}

function drawMark() {
  const button = $("mark");
  const marked = state.mark !== null && state.mark === shownCall.seq;
  button.setAttribute("aria-pressed", String(marked));
  setText(button, marked ? "Marked: select another call" : NO_MARK);
}

function drawCompare(panel) {
  const asked = new AbortController();
  const [one, other] = [state.mark, shownCall.seq];
  panel.append(el("p", { class: "why" }, "Comparing…"));
  compareCalls(panel, [one, other], asked.signal);
  return () => asked.abort();
}

async function compareCalls(panel, [one, other], signal) {
  let answer;
  try {
    const response = await ask(`compare?seq=${one},${other}`, { signal });
    answer = await response.json();
    if (!response.ok) throw new Error(answer.error || "status " + response.status);
  } catch (error) {
    if (!signal.aborted) panel.replaceChildren(el("p", { class: "why" }, visible(`They cannot be compared: ${error.message}`)));
    return;
  }
  if (signal.aborted) return;
  const counted = answer.differences.filter((difference) => difference.counts);
  const others = answer.differences.filter((difference) => !difference.counts);
  panel.replaceChildren(el("p", { class: "lead" }, el("b", {}, `#${one}`), " and ", el("b", {}, `#${other}`), answer.same
    ? " say the same." : ` differ in ${plural(counted.length, "place")}.`, " ",
  el("button", { class: "quiet", type: "button", on: { click: clearMark } }, "Stop comparing")));
  for (const [part, title] of [["request", "Request"], ["answer", "Answer"]]) {
    const found = counted.filter((difference) => difference.part === part);
    if (found.length) panel.append(el("h3", {}, title), compareTable(found, one, other));
  }
  if (others.length) {
    panel.append(el("details", { class: "uncounted" }, el("summary", {}, `${plural(others.length, "difference")} of every recording, such as times`),
      compareTable(others, one, other)));
  }
}

function clearMark() {
  state.mark = null;
  if (state.tab === "compare") state.tab = null;
  for (const row of list.rows.pool) row.stale = true;
  list.rows.now();
  drawMark();
  drawTabs(state.bySeq.get(shownCall.seq));
  writeFragment();
}

function compareTable(differences, one, other) {
  return el("table", { class: "differences" },
    el("thead", {}, el("tr", {}, ["Where", `#${one}`, `#${other}`].map((title) => el("th", { scope: "col" }, title)))),
    el("tbody", {}, differences.map((difference) => {
      const where = el("th", { scope: "row" }, el("code", {}, visible(difference.place || "/")));
      if (difference.text) return el("tr", {}, where, el("td", { colspan: "2", dir: "auto" }, signedLines(difference.text)));
      const side = (name) => (name in difference ? asText(difference[name] === null ? "null" : difference[name]) : null);
      const [before, after] = markedPair(side("a"), side("b"));
      return el("tr", {}, where, el("td", { dir: "auto" }, before), el("td", { dir: "auto" }, after));
    })));
}

/** Lines with their sign: only in the first call, only in the second, in both, left out. */
function signedLines(lines) {
  const tags = { "-": "del", "+": "ins", "@": "i", " ": "span" };
  return el("div", { class: "signed" }, lines.map((line) => el("div", { "data-sign": line[0] === "@" ? " " : line[0] },
    el(tags[line[0]] || "span", {}, visible(line.slice(1))))));
}
