// What comes from loomrec: what is looked at, the calls as they come, the details of one.

/** Lines that wait to be shown; they are taken in once a frame. */
const waiting = [];
let frame = false;
/** How many lines are taken in for one frame. */
const AT_ONCE = 2000;
let following = false;

class Refused extends Error {}

/** Asks for something beside this page; a token is asked for where one is needed. */
async function ask(what, options) {
  const token = kept("sessionStorage", "loomrec-token");
  const headers = token ? { authorization: "Bearer " + token } : {};
  const response = await fetch("/__loomrec/" + what, { ...options, headers, cache: "no-store", redirect: "error" });
  if (response.status === 401 || response.status === 403) {
    const why = await response.json().catch(() => ({}));
    const text = String(why.error || "");
    if (response.status === 401 || why.token_needed || /token/.test(text)) {
      askForToken(token !== null);
      throw new Refused("the control token is needed");
    }
    throw new Refused(text || "loomrec refused the request");
  }
  return response;
}

/** Follows the calls for as long as the page is open. */
async function follow() {
  if (following) return;
  following = true;
  await followOn();
  following = false;
}

async function followOn() {
  let pause = 500;
  for (;;) {
    try {
      await learnRun();
      const got = await readLines();
      if (got) pause = 250;
      if (!state.run.live) {
        setLive("still", "not live");
        return;
      }
      setLive("gone", "ended");
    } catch (error) {
      if (error instanceof Refused) {
        setLive("gone", "closed");
        if ($("token").hidden) notice(error.message);
        return;
      }
      setLive("gone", "not there");
      notice("loomrec does not answer. The calls so far are kept; trying again.", "gone");
    }
    await new Promise((done) => setTimeout(done, pause));
    pause = Math.min(pause * 2, 8000);
  }
}

/** Learns what is looked at; another run than before begins anew. */
async function learnRun() {
  const response = await ask("run");
  if (!response.ok) throw new Error("status " + response.status);
  const run = await response.json();
  state.run = run;
  unnotice("gone");
  if (typeof run.calls === "number" && run.calls < state.last) anotherRun();
  if (!run.live) list.stick = false;
  drawRun();
  drawList();
  $("token").hidden = true;
}

/** Another run than before answers: what came of that one is no part of it. */
function anotherRun() {
  waiting.length = 0;
  startOver();
  showCall();
  notice("Another run answers now: the list begins anew.", "anew");
}

/** Reads lines until there are no more. Returns whether there were any. */
async function readLines() {
  // The last line that is known is asked for once more: another run has another.
  const known = state.last > 0 ? state.lastRaw : null;
  const response = await ask(`journal?since=${Math.max(0, state.last - 1)}&follow=1`);
  if (!response.ok) {
    const why = await response.json().catch(() => ({}));
    notice(`The calls cannot be followed: ${plain(why.error || "status " + response.status)}`);
    return false;
  }
  if (state.run.live) setLive("on", "live");
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  let any = false;
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    if (known !== null && !any && lines.length) {
      any = true;
      if (lines[0] === known) lines.shift();
      else if (numberOf(lines[0]) === state.last) {
        await reader.cancel();
        anotherRun();
        return true;
      }
    }
    any = any || lines.length > 0;
    for (const line of lines) if (line) waiting.push(line);
    if (waiting.length) soon();
  }
  if (rest.trim()) waiting.push(rest);
  while (waiting.length) takeWaiting();
  return any;
}

function numberOf(raw) {
  try {
    return JSON.parse(raw).seq;
  } catch {
    return null;
  }
}

/** Takes lines in before the next frame; a tab in the background has none. */
function soon() {
  if (frame) return;
  frame = true;
  if (document.hidden) setTimeout(takeWaiting, 250);
  else requestAnimationFrame(takeWaiting);
}

function takeWaiting() {
  frame = false;
  const [bad, skipped] = [state.bad, state.skipped];
  const before = state.calls.length;
  const options = takeIn(waiting.splice(0, AT_ONCE));
  if (waiting.length) soon();
  if (options) drawOptions();
  drawList();
  askSoon();
  searchOn();
  askConversations();
  if (state.run.live) announce(state.calls.length - before);
  if (state.bad > bad) notice(`${plural(state.bad, "line")} could not be read.`, "bad");
  if (state.skipped > skipped) notice(`${plural(state.skipped, "earlier line")} could not be had any more.`, "skipped");
  if (state.selected !== null && shownCall.seq !== state.selected && state.bySeq.has(state.selected)) {
    // It was named by the address before it was here.
    list.stick = false;
    select(state.selected);
  }
}

/** Tells a screen reader of new calls, not more often than it can say. */
const unsaid = { calls: 0, timer: 0 };

function announce(calls) {
  unsaid.calls += Math.max(0, calls);
  if (unsaid.timer || !unsaid.calls) return;
  unsaid.timer = setTimeout(() => {
    say(`${plural(unsaid.calls, "new call")}, ${number(state.sums.failed)} of ${number(state.calls.length)} failed`);
    Object.assign(unsaid, { calls: 0, timer: 0 });
  }, 5000);
}

/** The details of a call: by its number, or by its entry where that is no longer known. */
async function askCall(call, signal) {
  let response = await ask(`call?seq=${call.seq}`, { signal });
  if (response.status === 404 && call.entry) {
    const query = new URLSearchParams({ key: call.entry, take: call.take || 1 });
    response = await ask("call?" + query, { signal });
  }
  const details = await response.json();
  if (!response.ok) throw new Error(details.error || "status " + response.status);
  return details;
}

function setLive(kind, text) {
  $("live").className = "live " + kind;
  setText($("live-text"), text);
}

/** What is looked at, in the header. */
function drawRun() {
  const { run } = state;
  const mode = run.kind === "run" ? run.mode : run.kind;
  $("mode").hidden = !mode;
  setText($("mode"), plain(String(mode || "").replace(/_/g, " ")));
  const files = (run.files || []).map((name) => plain(name));
  const inForce = run.in_force ? [plain(String(run.in_force).replace(/^loomrec: /, ""))] : [];
  const names = files.map((name) => name.split("/").pop() || name).join(", ");
  setText($("files"), [names, ...inForce].join(" · "));
  $("files").title = [...files, ...inForce].join("\n");
  document.title = files.length ? `${files[0].split("/").pop()} · loomrec` : "loomrec";
}

let noticeKind = null;

/** A quiet line below the header. */
function notice(text, kind) {
  noticeKind = kind || "said";
  setText($("notice-text"), text);
  $("notice").hidden = false;
}

/** Takes it away, if it is about this. */
function unnotice(kind) {
  if (noticeKind === kind) $("notice").hidden = true;
}

function askForToken(wrong) {
  kept("sessionStorage", "loomrec-token", null);
  $("token").hidden = false;
  $("split").hidden = true;
  $("token-wrong").hidden = !wrong;
  $("token-value").focus();
}

function startToken() {
  $("token-form").addEventListener("submit", (event) => {
    event.preventDefault();
    kept("sessionStorage", "loomrec-token", $("token-value").value.trim());
    $("token-value").value = "";
    $("token").hidden = true;
    $("split").hidden = false;
    unnotice("said");
    follow();
  });
}
