// The messages of a WebSocket, in both directions and in their order.

/** A message longer than this is folded: in characters. */
const LONG_MESSAGE = 400;

const exchangedOf = (details) => {
  const { exchanged } = details;
  return exchanged && Array.isArray(exchanged.shown) && exchanged.shown.length ? exchanged : null;
};

function drawExchanged(panel, details) {
  const { shown, more } = exchangedOf(details);
  panel.append(socketFacts(shown));
  let before = 0;
  const rows = shown.map((message, place) => {
    const gap = message.ms - before;
    before = message.ms;
    return exchangedRow(message, place, gap);
  });
  panel.append(el("ol", { class: "exchanged", "aria-label": "Messages" }, rows));
  if (more) panel.append(el("p", { class: "why" }, `The first ${number(shown.length)} of ${number(shown.length + more)} messages.`));
}

/** How many messages each side sent, and how much audio. */
function socketFacts(shown) {
  const facts = [];
  for (const [from, name] of [["client", "client"], ["server", "server"]]) {
    const own = shown.filter((message) => message.from === from && message.close === null);
    const audio = own.map((message) => message.audio).filter(Boolean);
    facts.push([name, plural(own.length, "message")]);
    if (audio.length) facts.push([`audio of the ${name}`, audioSize(audio)]);
  }
  const last = shown[shown.length - 1];
  facts.push(["last message", duration(last.ms)]);
  return el("dl", { class: "stream-facts" }, facts.map(([name, value]) =>
    el("div", {}, el("dt", {}, name), el("dd", {}, value))));
}

/** The length of audio, and its time if that of all of it is known. */
function audioSize(audio) {
  const bytes = audio.reduce((sum, { bytes: size }) => sum + size, 0);
  const known = audio.every(({ seconds }) => typeof seconds === "number");
  const seconds = audio.reduce((sum, part) => sum + (part.seconds || 0), 0);
  return byteSize(bytes) + (known ? `, ${seconds.toFixed(2)} s` : "");
}

function exchangedRow(message, place, gap) {
  const isClient = message.from === "client";
  const close = message.close === null ? null : `close ${message.close}`;
  const text = String(message.text || "");
  return el("li", { class: `exchanged-row from-${isClient ? "client" : "server"}` },
    el("span", { class: "k-n" }, String(place + 1)),
    el("span", { class: "k-at" }, duration(message.ms)),
    el("span", { class: "k-gap" }, place === 0 ? "" : duration(gap)),
    el("span", { class: "side" }, isClient ? "client →" : "← server"),
    el("span", { class: "k-bytes" }, close ? "" : byteSize(message.bytes)),
    el("div", { class: "code", dir: "auto" }, close ? el("b", {}, close, " ") : null, folded(text, LONG_MESSAGE),
      message.cut ? el("p", { class: "why" }, `Cut: the message has ${byteSize(message.bytes)}.`) : null));
}
