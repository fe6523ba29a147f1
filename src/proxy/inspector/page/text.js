// Elements and texts. Whatever a call holds becomes a text node here, never markup.

const $ = (id) => document.getElementById(id);

/** An element: `attributes` by name (`on` holds listeners), children as nodes or texts. */
function el(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "on") {
      for (const [event, listener] of Object.entries(value)) element.addEventListener(event, listener);
    } else element.setAttribute(name, value === true ? "" : String(value));
  }
  element.append(...children.flat(4).filter((child) => child !== null && child !== undefined));
  return element;
}

/** Sets an element's text where it is another one. */
function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

// What a reader would not see, or would see elsewhere than it stands: control characters
// (but tab and line feed), marks that turn the direction of text, invisible characters,
// line separators, tags.
const ODD = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;
const ODD_NAMES = {
  0x1b: "escape", 0x0d: "carriage return", 0x07: "bell", 0x08: "backspace", 0x00: "null",
  0x200b: "zero width space", 0x200e: "left-to-right mark", 0x200f: "right-to-left mark",
  0x202a: "left-to-right embedding", 0x202b: "right-to-left embedding",
  0x202c: "pop directional formatting", 0x202d: "left-to-right override",
  0x202e: "right-to-left override", 0x2066: "left-to-right isolate",
  0x2067: "right-to-left isolate", 0x2068: "first strong isolate",
  0x2069: "pop directional isolate", 0xfeff: "byte order mark", 0xad: "soft hyphen",
};
/** How many of them a text may have as boxes of their own; more are put in as text. */
const MOST_BOXES = 2000;

const CONTROLS = ("NUL SOH STX ETX EOT ENQ ACK BEL BS HT LF VT FF CR SO SI DLE DC1 DC2 DC3 DC4 NAK SYN ETB CAN EM SUB "
  + "ESC FS GS RS US").split(" ");

/** What stands in a box: letters, which can be read at that size. */
const oddBox = (character) => CONTROLS[character.codePointAt(0)] || oddSign(character);

function oddSign(character) {
  const code = character.codePointAt(0);
  if (code < 0x20) return String.fromCodePoint(0x2400 + code);
  if (code === 0x7f) return "\u2421";
  return "U+" + code.toString(16).toUpperCase().padStart(4, "0");
}

function oddTitle(character) {
  const code = character.codePointAt(0);
  const number = "U+" + code.toString(16).toUpperCase().padStart(4, "0");
  return ODD_NAMES[code] ? `${number} ${ODD_NAMES[code]}` : number;
}

/** A text whose odd characters can be seen, as a plain string. */
const plain = (text) => String(text).replace(ODD, oddSign);

/** A text as nodes: odd characters in boxes. */
function visible(text) {
  const out = document.createDocumentFragment();
  let from = 0;
  let boxes = 0;
  for (const found of text.matchAll(ODD)) {
    if (++boxes > MOST_BOXES) break;
    if (found.index > from) out.append(text.slice(from, found.index));
    out.append(el("span", { class: "odd", title: oddTitle(found[0]) }, oddBox(found[0])));
    from = found.index + found[0].length;
  }
  if (from < text.length) out.append(boxes > MOST_BOXES ? plain(text.slice(from)) : text.slice(from));
  return out;
}

/** A text on one line. */
const oneLine = (text) => plain(String(text).replace(/\r?\n/g, "\u23ce"));

/** JSON indented anew. Its texts and numbers stay as they are, digit for digit. */
function indented(text) {
  try {
    const value = JSON.parse(text);
    if (value === null || typeof value !== "object") return text;
  } catch {
    return text;
  }
  let out = "";
  let depth = 0;
  const line = () => "\n" + "  ".repeat(depth);
  const tokens = text.match(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g) || [];
  for (let place = 0; place < tokens.length; place += 1) {
    const token = tokens[place];
    if (token === "{" || token === "[") {
      const empty = tokens[place + 1] === "}" || tokens[place + 1] === "]";
      if (empty) out += token + tokens[(place += 1)];
      else {
        depth += 1;
        out += token + line();
      }
    } else if (token === "}" || token === "]") {
      depth -= 1;
      out += line() + token;
    } else if (token === ",") out += token + line();
    else out += token === ":" ? ": " : token;
  }
  return out;
}

const whole = new Intl.NumberFormat("en-US");
const number = (value) => whole.format(value);

/** 842, 12.3k, 4.56M. */
function short(value) {
  if (value < 10000) return number(value);
  return value < 1e6 ? (value / 1e3).toFixed(1) + "k" : (value / 1e6).toFixed(2) + "M";
}

/** 0.42 ms, 12.3 ms, 843 ms, 1.84 s, 12.3 s, 2 min 5 s. */
function duration(ms) {
  if (ms === null || ms === undefined) return "";
  if (ms < 1) return ms.toFixed(2) + " ms";
  if (ms < 99.95) return ms.toFixed(1) + " ms";
  if (ms < 999.5) return ms.toFixed(0) + " ms";
  if (ms < 9995) return (ms / 1000).toFixed(2) + " s";
  if (ms < 99950) return (ms / 1000).toFixed(1) + " s";
  return `${Math.floor(ms / 60000)} min ${Math.round((ms % 60000) / 1000)} s`;
}

function byteSize(bytes) {
  if (bytes < 1000) return bytes + " B";
  return bytes < 1e6 ? (bytes / 1e3).toFixed(1) + " kB" : (bytes / 1e6).toFixed(2) + " MB";
}

/** Dollars as `loomrec ls` writes them: $0.0000004, $0.000035, $0.0231, $1.24. */
function money(value) {
  if (value === null || value === undefined) return "";
  const size = Math.abs(value);
  if (size === 0) return "$0";
  if (size < 1e-12) return "$" + value.toExponential();
  if (size < 1e-6) return "$" + value.toFixed(1 - Math.floor(Math.log10(size))).replace(/0+$/, "");
  return "$" + value.toFixed(size < 0.01 ? 6 : size < 1 ? 4 : 2);
}

const plural = (count, word) => `${number(count)} ${word}${count === 1 ? "" : "s"}`;

/** A button that copies what `text` gives. */
function copyButton(text, label) {
  const button = el("button", { class: "quiet copy", type: "button", "aria-label": label }, "Copy");
  button.addEventListener("click", () => copy(text(), button));
  return button;
}

/** Copies a text, and says so. Without a secure context there is no clipboard. */
async function copy(text, button) {
  let done = "Copied";
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    done = "Not allowed";
  }
  say(done);
  if (!button) return;
  const before = button.textContent;
  button.textContent = done;
  setTimeout(() => (button.textContent = before === done ? "Copy" : before), 1200);
}

/** Tells a screen reader. */
const say = (text) => setText($("said"), text);

/** Reads or writes a store of the browser, which may be denied. */
function kept(store, name, value) {
  try {
    if (value === undefined) return window[store].getItem(name);
    if (value === null) window[store].removeItem(name);
    else window[store].setItem(name, value);
  } catch {
    // Nothing is remembered then.
  }
  return null;
}
