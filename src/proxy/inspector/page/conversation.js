// A call as a conversation, and as the bytes it was.

/** A text longer than this is folded: in characters, in lines. */
const LONG = 1800;
const LONG_LINES = 28;
/** How much of a raw text is put into the document at once. */
const RAW_AT_ONCE = 60000;
/** Of more messages than this, those in the middle are folded. */
const MANY = 40;

function hasConversation(details) {
  const said = (side) => side && Array.isArray(side.messages) && side.messages.length > 0;
  return said(details.request) || said(details.answer);
}

function drawConversation(panel, details) {
  const { request, answer } = details;
  if (request && request.settings && request.settings.length) {
    panel.append(el("ul", { class: "settings", "aria-label": "Settings" }, request.settings.map(([name, value]) =>
      el("li", {}, el("span", {}, oneLine(name)), " ", el("b", { title: oneLine(value) }, clipped(oneLine(value), 120))))));
  }
  drawMessages(panel, (request && request.messages) || [], false, details.continues);
  panel.append(el("div", { class: "turn" }, el("span", {}, "Answer"), answer ? answerFacts(answer) : null));
  if (!answer) panel.append(el("p", { class: "why" }, details.why_no_bodies || "There is no answer to show."));
  else {
    if (answer.error) panel.append(errorBox(answer.error));
    if (answer.messages && answer.messages.length) drawMessages(panel, answer.messages, true);
    else if (answer.text) panel.append(block(answer.text));
    else if (!answer.error) panel.append(el("p", { class: "why" }, "It is empty."));
  }
}

function answerFacts(answer) {
  const facts = [answer.status, answer.finish ? `finish: ${answer.finish}` : null,
    answer.chunks && answer.chunks.total ? `stream of ${plural(answer.chunks.total, "chunk")}` : null];
  return el("span", { class: "muted" }, oneLine(facts.filter(Boolean).join(" · ")));
}

const errorBox = (error) => el("p", { class: "error-box" }, visible(typeof error === "string" ? error : JSON.stringify(error)));

/** Messages in order. Those that the call before had already are folded, if `continues` names it. */
function drawMessages(panel, messages, answered, continues) {
  const out = el("ol", { class: "messages" });
  const items = (from, to) => messages.slice(from, to).map((message) => messageOf(message, answered));
  const fold = (title, open) => {
    const more = el("li", { class: "more" }, el("button", { type: "button", class: "fold", on: { click: () => {
      const added = open();
      more.replaceWith(...added);
      // The focus stays where the button was.
      added[0].tabIndex = -1;
      added[0].focus();
    } } }, title));
    return more;
  };
  const run = (from, to) => {
    if (to - from <= MANY) return items(from, to);
    const [head, tail] = [from + 4, to - MANY + 10];
    const between = fold(`Show ${plural(tail - head, "message")} between`, () => items(head, tail));
    return [...items(from, head), between, ...items(tail, to)];
  };
  const isBefore = (message) => Boolean(continues && message.as_before);
  for (let from = 0; from < messages.length;) {
    let to = from + 1;
    while (to < messages.length && isBefore(messages[to]) === isBefore(messages[from])) to += 1;
    const [start, end] = [from, to];
    if (isBefore(messages[start])) out.append(fold(`${plural(end - start, "message")} as before, in call #${continues.seq}`, () => run(start, end)));
    else out.append(...run(start, end));
    from = to;
  }
  const note = continues && noteOf(continues);
  if (note) panel.append(el("p", { class: "muted" }, note));
  panel.append(out);
}

/** What else is to be said of the call that a call continues. */
function noteOf({ seq, stored, left_out: gone }) {
  if (stored) return `Its provider holds the messages before, which end with call #${seq}.`;
  return gone ? `${plural(gone, "message")} of call #${seq} ${gone === 1 ? "is" : "are"} not here, or changed.` : null;
}

function messageOf(message, answered) {
  const role = String(message.role || "?");
  return el("li", { class: `message r-${role.replace(/[^a-z]/g, "")}${answered ? " answered" : ""}` },
    el("span", { class: "role" }, oneLine(role)),
    el("div", { class: "parts" }, (message.parts || []).map(partOf)));
}

function partOf(part) {
  const text = String(part.text === null || part.text === undefined ? "" : part.text);
  switch (part.kind) {
    case "text":
      return el("div", { class: "part text", dir: "auto" }, folded(text));
    case "reasoning":
      return el("details", { class: "part reasoning", open: text.length < 600 },
        el("summary", {}, `Reasoning, ${plural(text.length, "character")}`), el("div", { dir: "auto" }, folded(text)));
    case "tool_call":
      return box("tool-call", "calls", part.name, folded(indented(text)));
    case "tool_result":
      return box("tool-result", "result of", part.name, folded(indented(text)));
    case "image":
      return box("image", "image", part.name, folded(text || "not shown"));
    default:
      return box("other", String(part.kind || "other"), part.name, folded(indented(text)));
  }
}

function box(kind, title, name, content) {
  return el("div", { class: "part box " + kind },
    el("div", { class: "box-title" }, oneLine(name || kind !== "tool-result" ? title : "result"), " ", name ? el("b", {}, oneLine(name)) : null),
    el("div", { class: "code", dir: "auto" }, content));
}

/** The beginning of a text, up to the end of a word if one is near. */
function clipped(text, most) {
  if (text.length <= most) return text;
  const part = text.slice(0, wholeCharacter(text, most - 1));
  return part.replace(/(?<=\s)\S{0,40}$/, "") + "…";
}

/** A text as nodes; of a long one the beginning, and a button for the rest. */
function folded(text, most = LONG) {
  const breaks = nthBreak(text, LONG_LINES);
  const end = wholeCharacter(text, Math.min(breaks < 0 ? text.length : breaks, most));
  if (end >= text.length - 200 && text.length < most * 2) return visible(text);
  const rest = el("span", {});
  const button = el("button", { class: "fold", type: "button" }, `Show all ${number(text.length)} characters`);
  let open = false;
  const draw = () => {
    rest.replaceChildren(open ? visible(text.slice(end)) : "…");
    setText(button, open ? "Show less" : `Show all ${number(text.length)} characters`);
    button.setAttribute("aria-expanded", String(open));
  };
  button.addEventListener("click", () => {
    open = !open;
    draw();
  });
  draw();
  return [visible(text.slice(0, end)), rest, el("div", {}, button)];
}

/** A place that does not cut a character in two. */
function wholeCharacter(text, place) {
  const code = text.charCodeAt(place - 1);
  return code >= 0xd800 && code < 0xdc00 ? place - 1 : place;
}

function nthBreak(text, count) {
  let place = -1;
  for (let found = 0; found < count; found += 1) {
    place = text.indexOf("\n", place + 1);
    if (place < 0) return -1;
  }
  return place;
}

/** A block of text as it is; of a large one a part at a time. */
function block(text) {
  const pre = el("pre", { class: "block", tabindex: "0" });
  let shown = 0;
  const button = el("button", { class: "fold", type: "button", on: { click: more } });
  function more() {
    const end = wholeCharacter(text, Math.min(text.length, shown === 0 ? RAW_AT_ONCE : shown + 10 * RAW_AT_ONCE));
    pre.append(visible(text.slice(shown, end)));
    shown = end;
    button.hidden = shown >= text.length;
    setText(button, `Show more: ${number(text.length - shown)} characters are left`);
  }
  more();
  const out = document.createDocumentFragment();
  out.append(pre, button);
  return out;
}

/** Request and answer: first line, headers, body. */
function drawRaw(panel, details) {
  const { request, answer } = details;
  if (details.why_no_bodies) panel.append(el("p", { class: "why" }, visible(details.why_no_bodies)));
  if (request) panel.append(el("section", {}, sideOf("Request", `${request.method} ${request.path}`, request)));
  if (answer) panel.append(el("section", {}, sideOf("Answer", answer.status, answer)));
}

function sideOf(title, first, side) {
  const text = side.text || "";
  const size = side.bytes === null || side.bytes === undefined ? "" : byteSize(side.bytes);
  return [
    el("div", { class: "over" }, el("h3", {}, title), el("code", {}, oneLine(first === null || first === undefined ? "" : first)),
      el("span", { class: "grow" }), el("span", { class: "muted" }, size),
      title === "Request" ? curlButton() : null, copyButton(() => text, `Copy the ${title.toLowerCase()}'s body`)),
    side.headers && side.headers.length ? el("details", { class: "headers" },
      el("summary", {}, plural(side.headers.length, "header")), table(side.headers.map(([name, value]) => [name, String(value)]))) : null,
    side.error ? errorBox(side.error) : null,
    text ? block(text) : el("p", { class: "why" }, "It has no body."),
    side.cut ? el("p", { class: "why" }, `Cut: the body has ${size} in all. The recording holds it whole.`) : null,
  ];
}
