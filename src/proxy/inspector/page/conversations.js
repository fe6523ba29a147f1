// Conversations as a tree: which call continues which, and where they branch. loomrec reads the
// histories of the requests, a part of the calls at a time.

/** The deepest indentation, in steps; and its width in px. */
const DEEPEST = 16;
const STEP = 14;

/** The earlier call of each call; how far loomrec has read. */
const conversations = { earlier: new Map(), after: 0, more: false, busy: false, timer: 0 };

/** Asks which call continues which, if that is shown and there are new calls. */
async function askConversations() {
  const known = conversations;
  if (state.view !== "conversations" || known.busy || !state.run || (!known.more && known.after >= state.last)) return;
  known.busy = true;
  known.more = true;
  try {
    do {
      const response = await ask("conversations");
      const answer = await response.json();
      if (!response.ok) throw new Error(answer.error || "status " + response.status);
      Object.assign(known, { after: Math.min(answer.after, state.last), more: answer.more });
      if (!answer.more) known.earlier = new Map(answer.continues);
      else drawSums();
    } while (known.more && state.view === "conversations");
    if (!known.more) {
      refilter();
      drawList();
    }
  } catch (error) {
    known.more = false;
    if (!(error instanceof TypeError)) notice(`The conversations cannot be read: ${plain(error.message)}`);
  }
  known.busy = false;
  drawSums();
  // What came meanwhile, not more often than this.
  clearTimeout(known.timer);
  if (state.run.live) known.timer = setTimeout(askConversations, 1000);
}

const conversationProgress = () => (state.view === "conversations" && conversations.more
  ? `, reading conversations ${Math.floor((100 * conversations.after) / Math.max(1, state.last))} %` : "");

/** Calls in the order of their conversations. Each gets `tree`: its depth, the call before, what it begins. */
function treeOrder(calls) {
  const shown = new Map(calls.map((call) => [call.seq, call]));
  const next = new Map();
  const first = [];
  for (const call of calls) {
    let before = conversations.earlier.get(call.seq);
    // The nearest one that the filters show.
    for (let by = 0; before !== undefined && !shown.has(before) && by < 1000; by += 1) before = conversations.earlier.get(before);
    const earlier = before === undefined ? null : shown.get(before) || null;
    call.tree = { depth: 0, earlier, calls: 1, ends: 0 };
    if (!earlier) first.push(call);
    else if (next.has(earlier.seq)) next.get(earlier.seq).push(call);
    else next.set(earlier.seq, [call]);
  }
  const out = [];
  const left = first.reverse();
  while (left.length) {
    const call = left.pop();
    out.push(call);
    const follow = next.get(call.seq) || [];
    const deeper = follow.length > 1 || !call.tree.earlier ? 1 : 0;
    for (const one of follow) one.tree.depth = call.tree.depth + deeper;
    left.push(...follow.reverse());
  }
  for (let place = out.length - 1; place >= 0; place -= 1) {
    const { tree, seq } = out[place];
    if (!next.has(seq)) tree.ends = 1;
    if (tree.earlier) {
      tree.earlier.tree.calls += tree.calls;
      tree.earlier.tree.ends += tree.ends;
    }
  }
  return out;
}

/** Where a row stands in its conversation: indented, with what it continues. */
function drawBranch(row, call, index) {
  const cell = row.cells.call;
  const tree = state.view === "conversations" ? call.tree : null;
  cell.style.paddingLeft = tree ? Math.min(tree.depth, DEEPEST) * STEP + "px" : "";
  if (!tree) {
    row.removeAttribute("aria-level");
    setText(cell.firstChild, "");
    return;
  }
  row.setAttribute("aria-level", String(tree.depth + 1));
  const before = state.shown[index - 1];
  let text = tree.calls > 1 ? plural(tree.calls, "call") + (tree.ends > 1 ? `, ${tree.ends} branches` : "") : "";
  if (tree.earlier) text = before === tree.earlier ? "↳" : `↳ from #${tree.earlier.seq}`;
  setText(cell.firstChild, text);
}
