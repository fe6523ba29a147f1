// The waterfall: when each call began and how long it took, on an axis of time. The axis spans the
// calls in sight, in the time of the run.

/** The part of the run that is in sight; its beginning; the width of the axis in px. */
const fall = { from: 0, to: 1, begin: 0, width: 300 };

const endOf = (call) => call.start + (typeof call.total === "number" ? call.total : 0);

/** Sees to the axis before rows are drawn. */
function spanRows(first, last) {
  if (state.view !== "waterfall") return;
  let [from, to] = [Infinity, -Infinity];
  for (let place = first; place < last; place += 1) {
    const call = state.shown[place];
    if (!call || call.start === null) continue;
    from = Math.min(from, call.start);
    to = Math.max(to, endOf(call));
  }
  if (from > to) [from, to] = [fall.begin, fall.begin + 1];
  Object.assign(fall, { width: $("head-fall").clientWidth || 300, from, to: Math.max(to, from + 0.1), begin: state.begin === null ? from : state.begin });
}

/** Draws the axis over the bars. */
function drawAxis() {
  if (state.view !== "waterfall") return;
  const head = $("head-fall");
  const span = fall.to - fall.from;
  const step = stepOf(span, Math.max(1, fall.width / 90));
  const ticks = [];
  for (let at = Math.ceil((fall.from - fall.begin) / step) * step; at <= fall.to - fall.begin; at += step) {
    const place = (100 * (at + fall.begin - fall.from)) / span;
    if (place + 4500 / fall.width > 100) break;
    const tick = el("span", { class: "fall-tick" }, axisLabel(at, step));
    tick.style.left = place + "%";
    ticks.push(tick);
  }
  head.replaceChildren(el("span", { class: "away" }, "Time in the run"), ...ticks);
}

function drawFall(row, call) {
  if (state.view !== "waterfall") return;
  const [bar, text] = row.cells.fall.children;
  const known = call.start !== null;
  bar.hidden = !known;
  setText(text, known ? `+${call.start > fall.begin ? duration(call.start - fall.begin) : 0}${typeof call.total === "number" ? ` · ${duration(call.total)}` : ""}` : "no time");
  if (!known) return;
  const share = (ms) => Math.min(100, Math.max(0, (100 * (ms - fall.from)) / (fall.to - fall.from)));
  const [left, right] = [share(call.start), share(endOf(call))];
  bar.style.left = left + "%";
  bar.style.width = `max(3px, ${right - left}%)`;
  const waited = typeof call.first === "number" && call.total > 0 ? Math.min(1, call.first / call.total) : 0;
  bar.style.setProperty("--waited", 100 * waited + "%");
  // Beside the bar; on it, where there is no room at its sides.
  const room = (100 * (7 * text.textContent.length + 12)) / fall.width;
  const [after, before] = [right + room < 100, left - room > 0];
  text.style.left = after ? `calc(${right}% + 8px)` : before ? "" : `calc(${Math.min(left, Math.max(0, 100 - room))}% + 6px)`;
  text.style.right = !after && before ? `calc(${100 - left}% + 6px)` : "";
  text.classList.toggle("on-bar", !after && !before);
}
