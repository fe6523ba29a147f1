// Why a call was missed: the reason, what differs from the nearest recorded call, what to
// do, and both requests side by side.

/** Lines around a change that are shown; and the most rows in all. */
const AROUND = 3;
const WORTH_FOLDING = 4;
const MOST_ROWS = 4000;

const REASONS = {
  drifted: "A call like it is recorded, and something in it changed.",
  exhausted: "Every recorded take of it is used up.",
  "unknown request": "Nothing like it is recorded.",
  "recorded incomplete": "It is recorded, but its answer is not whole.",
};

function drawMismatch(panel, details) {
  const { mismatch } = details;
  const nearest = mismatch.nearest || null;
  const reason = String(mismatch.reason || "missed");
  panel.append(el("p", { class: "lead" }, el("b", { class: "reason" }, oneLine(reason)), " ",
    REASONS[reason.replace(/_/g, " ")] || ""));
  const differences = mismatch.differences || (nearest && nearest.differences) || [];
  if (nearest) panel.append(el("p", { class: "muted" }, "Nearest recorded call: ", el("code", {}, nearestName(nearest))));
  if (differences.length) panel.append(differenceTable(differences));
  else if (mismatch.message) panel.append(el("p", { class: "message-text" }, visible(String(mismatch.message))));
  if (mismatch.remedy) panel.append(remedyOf(String(mismatch.remedy)));
  if (details.request && details.nearest_request) {
    panel.append(el("div", { class: "over" }, el("h3", {}, "The requests"), el("span", { class: "muted" }, "recorded, and now")),
      sideBySide(details.nearest_request, details.request));
  } else if (details.why_no_bodies) panel.append(el("p", { class: "why" }, visible(details.why_no_bodies)));
}

function nearestName(nearest) {
  const entry = String(nearest.entry || "");
  const name = /^[0-9a-f]{64}/.test(entry) ? entry.slice(0, 12) : entry;
  return oneLine(`${name}${nearest.take > 1 ? ` take ${nearest.take}` : ""}${nearest.recording ? ` in ${nearest.recording}` : ""}`);
}

/** The remedy, with the commands in it set apart and ready to be copied. */
function remedyOf(remedy) {
  const pieces = remedy.split(/`([^`]*)`/);
  return el("p", { class: "remedy" }, pieces.map((piece, place) => (place % 2 === 0 ? visible(piece)
    : el("span", { class: "command" }, el("code", { title: oneLine(piece) }, visible(piece)), copyButton(() => piece, "Copy the command")))));
}

const asText = (value) => (value === null || value === undefined ? null : typeof value === "string" ? value : JSON.stringify(value));

function differenceTable(differences) {
  return el("table", { class: "differences" },
    el("thead", {}, el("tr", {}, ["Where", "Recorded", "Now"].map((title) => el("th", { scope: "col" }, title)))),
    el("tbody", {}, differences.map((difference) => {
      const [recorded, now] = markedPair(asText(difference.recorded), asText(difference.now));
      return el("tr", {}, el("th", { scope: "row" }, el("code", {}, visible(String(difference.pointer || "/")))),
        el("td", { dir: "auto" }, recorded), el("td", { dir: "auto" }, now));
    })));
}

function sideBySide(before, after) {
  const [a, b] = [(before.text || "").split("\n"), (after.text || "").split("\n")];
  const rows = lineRows(a, b);
  const body = el("tbody", {});
  const near = new Set();
  rows.forEach(([kind], place) => {
    if (kind === "changed") for (let by = -AROUND; by <= AROUND; by += 1) near.add(place + by);
  });
  let hidden = [];
  const flush = () => {
    if (!hidden.length) return;
    const held = hidden;
    hidden = [];
    if (held.length < WORTH_FOLDING) {
      body.append(...held.map((place) => lineRow(rows[place], a, b)));
      return;
    }
    const row = el("tr", { class: "same-lines" }, el("td", { colspan: "4" }, el("button", { class: "fold", type: "button", on: {
      click: () => row.replaceWith(...held.slice(0, MOST_ROWS).map((place) => lineRow(rows[place], a, b))),
    } }, `${plural(held.length, "line")} alike`)));
    body.append(row);
  };
  let shown = 0;
  rows.forEach((row, place) => {
    if (!near.has(place) || shown > MOST_ROWS) {
      hidden.push(place);
      return;
    }
    flush();
    shown += 1;
    body.append(lineRow(row, a, b));
  });
  flush();
  return el("div", { class: "sides-scroll", tabindex: "0", role: "region", "aria-label": "Both requests" }, el("table", { class: "sides" },
    el("colgroup", {}, el("col", { class: "n" }), el("col", {}), el("col", { class: "n" }), el("col", {})),
    el("thead", {}, el("tr", {}, el("th", { scope: "col", colspan: "2" }, "Recorded"), el("th", { scope: "col", colspan: "2" }, "Now"))), body));
}

function lineRow([kind, placeA, placeB], a, b) {
  const [before, after] = [placeA === null ? null : a[placeA], placeB === null ? null : b[placeB]];
  const pair = kind === "same" ? [visible(before), visible(after)]
    : before === null || after === null ? [before === null ? "" : el("del", {}, visible(before)), after === null ? "" : el("ins", {}, visible(after))]
      : markedPair(before, after);
  const side = (place, node, sign) => [el("td", { class: "n" }, place === null ? "" : String(place + 1)),
    el("td", { class: place === null ? "none" : "text", "data-sign": kind === "same" || place === null ? " " : sign }, node)];
  return el("tr", { class: kind }, side(placeA, pair[0], "−"), side(placeB, pair[1], "+"));
}
