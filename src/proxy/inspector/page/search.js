// Search in all text of the calls. Lines are searched here; requests and answers by loomrec, a
// part of the calls at a time.

/** How long a query rests before it is sent, in ms. */
const TYPED = 250;

/** The query that was sent; the calls that contain it; how far the search got. */
const search = { q: "", found: new Set(), after: 0, more: false, busy: false, timer: 0, asked: null };

/** Searches on: a new query from the beginning, a known one in the calls that came since. */
function searchOn(pause = 0) {
  const q = state.filter.q.trim();
  if (q !== search.q) {
    if (search.asked) search.asked.abort();
    clearTimeout(search.timer);
    search.found.clear();
    Object.assign(search, { q, after: 0, more: q !== "", busy: false, timer: 0 });
  }
  if (!q || !state.run || search.busy || search.timer || (!search.more && state.last <= search.after)) return;
  search.timer = setTimeout(() => {
    search.timer = 0;
    search.busy = true;
    askSearch(q, (search.asked = new AbortController()).signal);
  }, pause);
}

async function askSearch(q, signal) {
  try {
    do {
      const response = await ask("search?" + new URLSearchParams({ q, after: search.after }), { signal });
      const answer = await response.json();
      if (signal.aborted) return;
      if (!response.ok) throw new Error(answer.error || "status " + response.status);
      takeFound(answer);
    } while (search.more);
    say(`${number(state.shown.length)} of ${plural(state.calls.length, "call")}`);
  } catch (error) {
    if (signal.aborted) return;
    // A later line tries again. If loomrec is gone, following the calls says so.
    search.more = false;
    if (!(error instanceof TypeError)) notice(`Only lines were searched: ${plain(error.message)}`, "search");
  }
  search.busy = false;
  drawSums();
}

function takeFound({ found, after, more }) {
  const before = search.found.size;
  for (const seq of found) search.found.add(seq);
  // A line may be counted a moment before it is there.
  search.after = more ? after : Math.min(after, state.last);
  search.more = more;
  if (search.found.size > before) {
    refilter();
    drawList();
  } else drawSums();
}

/** How far the search got, in words. */
function searchProgress() {
  const last = Math.max(state.last, 1);
  return search.more ? `, searched ${Math.min(99, Math.floor((100 * search.after) / last))} %` : "";
}
