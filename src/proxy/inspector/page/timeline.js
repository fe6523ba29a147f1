// A stream as it came: what had arrived by when, its chunks on an axis of time, the gaps.

const SVG = "http://www.w3.org/2000/svg";
/** The drawing: its height, and the room at its sides. */
const CHART = { height: 176, left: 8, right: 8, top: 30, rug: 26, axis: 22 };
const CHUNK_HEIGHT = 22;

function svg(tag, attributes, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes || {})) element.setAttribute(name, String(value));
  element.append(...children.flat());
  return element;
}

function drawStream(panel, details) {
  const chunks = chunksOf(details);
  const items = chunks.list.map((chunk) => ({
    at: chunk.at_ms || 0, gap: chunk.gap_ms || 0, bytes: chunk.bytes || 0, text: String(chunk.text || ""), words: typeof chunk.words === "string" ? chunk.words : null,
  }));
  panel.append(streamFacts(items, chunks));
  const chart = el("div", {
    class: "chart", tabindex: "0", role: "slider", "aria-label": "Chunks over time", "aria-valuemin": "1",
    "aria-valuemax": String(items.length), "aria-valuenow": "1", "aria-orientation": "horizontal",
  });
  const readout = el("div", { class: "readout" });
  const scroller = el("div", { class: "chunks", tabindex: "0", role: "table", "aria-label": "Chunks", "aria-rowcount": String(items.length + 1) });
  const body = el("div", { class: "chunk-body", role: "rowgroup" });
  scroller.append(el("div", { class: "chunk head", role: "row" }, ["#", "At", "Gap", "Bytes", "Text"].map((title) =>
    el("span", { role: "columnheader" }, title))), body);
  panel.append(chart, readout, scroller);
  if (chunks.more) panel.append(el("p", { class: "why" }, `The first ${number(items.length)} of ${number(chunks.total)} chunks.`));
  return steer({ items, chart, readout, scroller, body });
}

function streamFacts(items, chunks) {
  const gaps = items.slice(1).map((chunk) => chunk.gap).sort((a, b) => a - b);
  const quantile = (part) => (gaps.length ? gaps[Math.min(gaps.length - 1, Math.floor(part * gaps.length))] : null);
  const total = items.reduce((sum, chunk) => sum + chunk.bytes, 0);
  const facts = [["chunks", number(chunks.total || items.length)], ["first byte", duration(items[0].at)],
    ["last byte", duration(items[items.length - 1].at)], ["median gap", duration(quantile(0.5))],
    ["p95 gap", duration(quantile(0.95))], ["longest gap", duration(gaps[gaps.length - 1])], ["bytes", byteSize(total)]];
  return el("dl", { class: "stream-facts" }, facts.filter(([, value]) => value).map(([name, value]) =>
    el("div", {}, el("dt", {}, name), el("dd", {}, value))));
}

/** Joins drawing, readout and table: one chunk is current in all three. */
function steer({ items, chart, readout, scroller, body }) {
  let current = 0;
  let drawing = null;
  const longest = Math.max(0.001, ...items.slice(1).map((chunk) => chunk.gap));
  const rows = new Rows({
    scroller, body, height: CHUNK_HEIGHT,
    make: () => el("div", { class: "chunk", role: "row" }, ["n", "at", "gap", "bytes", "text"].map((name) =>
      el("span", { role: "cell", class: "k-" + name }))),
    fill: (row, index) => fillChunk(row, items[index], index, longest, index === current),
  });
  const choose = (place, reveal) => {
    current = Math.min(items.length - 1, Math.max(0, place));
    const chunk = items[current];
    readout.replaceChildren(...[el("b", {}, "#" + (current + 1)), ` at ${duration(chunk.at)} · `,
      current === 0 ? "the first" : `${duration(chunk.gap)} after the one before`, ` · ${byteSize(chunk.bytes)}`,
      chunk.words === null ? null : el("p", { class: "chunk-words", dir: "auto" }, visible(clipped(chunk.words, 600))),
      el("code", { dir: "auto" }, visible(clipped(chunk.text.trimEnd(), 600)))].filter(Boolean));
    chart.setAttribute("aria-valuenow", String(current + 1));
    chart.setAttribute("aria-valuetext", `chunk ${current + 1} at ${duration(chunk.at)}, gap ${duration(chunk.gap)}, ${byteSize(chunk.bytes)}`);
    if (drawing) drawing.mark(current);
    if (reveal) rows.reveal(current);
    else rows.draw();
  };
  const draw = () => {
    drawing = drawChart(chart, items, chart.clientWidth);
    drawing.mark(current);
  };
  const watch = new ResizeObserver(draw);
  watch.observe(chart);
  chart.addEventListener("pointermove", (event) => {
    if (drawing) choose(drawing.near(event.clientX - chart.getBoundingClientRect().left), true);
  });
  chart.addEventListener("keydown", (event) => {
    const to = { ArrowRight: current + 1, ArrowLeft: current - 1, Home: 0, End: items.length - 1,
      PageUp: current - 10, PageDown: current + 10 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    choose(to, true);
  });
  body.addEventListener("click", (event) => {
    const row = event.target.closest(".chunk");
    if (row) choose(row.place);
  });
  rows.resize(items.length);
  choose(0);
  return () => {
    watch.disconnect();
    rows.drop();
  };
}

function fillChunk(row, chunk, index, longest, current) {
  row.place = index;
  const [place, at, gap, bytes, text] = row.children;
  setText(place, String(index + 1));
  setText(at, duration(chunk.at));
  setText(gap, index === 0 ? "" : duration(chunk.gap));
  gap.style.setProperty("--part", index === 0 ? "0%" : Math.round((100 * chunk.gap) / longest) + "%");
  setText(bytes, byteSize(chunk.bytes));
  setText(text, clipped(oneLine(chunk.words === null ? chunk.text : chunk.words), 500));
  text.classList.toggle("is-words", chunk.words !== null);
  row.classList.toggle("current", current);
  row.setAttribute("aria-rowindex", String(index + 2));
}

/** Steps of an axis that read well: 1, 2 or 5 times a power of ten. */
function stepOf(span, most) {
  const raw = span / most;
  const power = 10 ** Math.floor(Math.log10(raw));
  return [1, 2, 5, 10].map((times) => times * power).find((step) => step >= raw);
}

function axisLabel(ms, step) {
  if (ms === 0) return "0";
  if (step >= 1000) return ms / 1000 + " s";
  return step >= 100 && ms >= 1000 ? (ms / 1000).toFixed(1) + " s" : Number(ms.toPrecision(6)) + " ms";
}

/** Draws the chunks. Returns `mark(place)` and `near(x)`. */
function drawChart(chart, items, width) {
  const { height, left, right, top, rug, axis } = CHART;
  const end = Math.max(items[items.length - 1].at, 0.001) * 1.02;
  const x = (ms) => left + (ms / end) * Math.max(10, width - left - right);
  const floor = height - axis - rug;
  const all = items.reduce((sum, chunk) => sum + chunk.bytes, 0) || 1;
  const most = Math.max(1, ...items.map((chunk) => chunk.bytes));
  const parts = [];
  const step = stepOf(end, Math.max(2, width / 90));
  for (let ms = 0; ms <= end; ms += step) {
    parts.push(svg("line", { class: "tick", x1: x(ms), x2: x(ms), y1: top, y2: height - axis }));
    const anchor = x(ms) > width - 30 ? "end" : ms === 0 ? "start" : "middle";
    parts.push(svg("text", { class: "axis", x: x(ms), y: height - 6, "text-anchor": anchor }, axisLabel(ms, step)));
  }
  const wait = items.slice(1).reduce((found, chunk) => (chunk.gap > found.gap ? chunk : found), { gap: 0, at: 0 });
  if (items.length > 2 && wait.gap > end / 50) {
    const from = x(wait.at - wait.gap);
    parts.push(svg("rect", { class: "stall", x: from, y: top, width: Math.max(1, x(wait.at) - from), height: height - axis - top }));
    parts.push(label((from + x(wait.at)) / 2, "longest gap " + duration(wait.gap), width, 1));
  }
  let sum = 0;
  let line = `M${x(items[0].at)},${floor}`;
  for (const chunk of items) {
    const y = (part) => floor - (part / all) * (floor - top - 6);
    line += `L${x(chunk.at).toFixed(2)},${y(sum).toFixed(2)}`;
    sum += chunk.bytes;
    line += `L${x(chunk.at).toFixed(2)},${y(sum).toFixed(2)}`;
  }
  const last = x(items[items.length - 1].at).toFixed(2);
  parts.push(svg("path", { class: "area", d: `${line}L${last},${floor}Z` }), svg("path", { class: "sum", d: line }));
  for (const chunk of items) {
    const tall = 4 + (rug - 8) * Math.sqrt(chunk.bytes / most);
    parts.push(svg("line", { class: "beat", x1: x(chunk.at), x2: x(chunk.at), y1: height - axis, y2: height - axis - tall }));
  }
  const first = x(items[0].at);
  parts.push(svg("line", { class: "first", x1: first, x2: first, y1: top - 4, y2: height - axis }));
  parts.push(label(first, "first byte " + duration(items[0].at), width, 0));
  const cursor = svg("line", { class: "cursor", y1: top, y2: height - axis });
  chart.replaceChildren(svg("svg", { width, height, "aria-hidden": "true" }, parts, cursor));
  return {
    mark(place) {
      const at = x(items[place].at);
      cursor.setAttribute("x1", at);
      cursor.setAttribute("x2", at);
    },
    near(px) {
      let [low, high] = [0, items.length - 1];
      while (low < high) {
        const middle = (low + high) >> 1;
        if (x(items[middle].at) < px) low = middle + 1;
        else high = middle;
      }
      return low > 0 && px - x(items[low - 1].at) < x(items[low].at) - px ? low - 1 : low;
    },
  };
}

/** A text above the drawing, in one of two rows, that stays inside of it. */
function label(at, text, width, row) {
  const half = text.length * 3.4;
  const anchor = at < half ? "start" : at > width - half ? "end" : "middle";
  const place = anchor === "start" ? Math.max(2, at) : anchor === "end" ? Math.min(width - 2, at) : at;
  return svg("text", { class: "note", x: place, y: 10 + row * 13, "text-anchor": anchor }, text);
}
