// What differs between two texts: lines first, and the words in lines that changed.

/** The longest lists that are compared; longer ones are one change. */
const MOST_CELLS = 4e6;

/**
 * What two lists have in common, as pairs of places `[a, b]`: a longest common
 * subsequence between what they begin and end with alike.
 */
function common(a, b) {
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start += 1;
  let [enda, endb] = [a.length, b.length];
  while (enda > start && endb > start && a[enda - 1] === b[endb - 1]) {
    enda -= 1;
    endb -= 1;
  }
  const pairs = [];
  for (let place = 0; place < start; place += 1) pairs.push([place, place]);
  const [rows, columns] = [enda - start, endb - start];
  if (rows > 0 && columns > 0 && rows * columns <= MOST_CELLS) {
    const width = columns + 1;
    const longest = new Uint16Array((rows + 1) * width);
    for (let i = rows - 1; i >= 0; i -= 1) {
      for (let j = columns - 1; j >= 0; j -= 1) {
        longest[i * width + j] = a[start + i] === b[start + j] ? longest[(i + 1) * width + j + 1] + 1
          : Math.max(longest[(i + 1) * width + j], longest[i * width + j + 1]);
      }
    }
    for (let i = 0, j = 0; i < rows && j < columns;) {
      if (a[start + i] === b[start + j]) pairs.push([start + i++, start + j++]);
      else if (longest[(i + 1) * width + j] >= longest[i * width + j + 1]) i += 1;
      else j += 1;
    }
  }
  for (let place = 0; enda + place < a.length; place += 1) pairs.push([enda + place, endb + place]);
  return pairs;
}

const wordsOf = (text) => text.match(/[\p{L}\p{N}_]+|\s+|[^\p{L}\p{N}_\s]/gu) || [];

/** Two texts as nodes, with what differs marked. */
function markedPair(before, after) {
  if (before === null || after === null) {
    return [before === null ? absent() : visible(before), after === null ? absent() : visible(after)];
  }
  const [a, b] = [wordsOf(before), wordsOf(after)];
  const pairs = common(a, b);
  // Where hardly anything is common, islands of common blanks are no help.
  const shared = pairs.reduce((sum, [place]) => sum + a[place].trim().length, 0);
  if (shared * 5 < Math.min(before.length, after.length)) return [marked("del", [before], []), marked("ins", [after], [])];
  return [marked("del", a, pairs.map(([place]) => place)), marked("ins", b, pairs.map(([, place]) => place))];
}

const absent = () => el("span", { class: "absent" }, "nothing");

/** Words as nodes: those at none of the places are marked. */
function marked(tag, words, same) {
  const out = document.createDocumentFragment();
  const known = new Set(same);
  let run = "";
  let kind = null;
  const flush = () => {
    if (run) out.append(kind ? visible(run) : el(tag, {}, visible(run)));
    run = "";
  };
  words.forEach((word, place) => {
    // A blank between two marked words is marked as well.
    const blank = !word.trim() && kind === false && place + 1 < words.length && !known.has(place + 1);
    const is = known.has(place) && !blank;
    if (is !== kind) flush();
    kind = is;
    run += word;
  });
  flush();
  return out;
}

/**
 * Two texts line by line: rows `[kind, a, b]` of places, kind `same` or `changed`; either
 * place is null where only the other side has a line.
 */
function lineRows(a, b) {
  const rows = [];
  let [i, j] = [0, 0];
  const changed = (toA, toB) => {
    while (i < toA || j < toB) rows.push(["changed", i < toA ? i++ : null, j < toB ? j++ : null]);
  };
  for (const [placeA, placeB] of common(a, b)) {
    changed(placeA, placeB);
    rows.push(["same", i++, j++]);
  }
  changed(a.length, b.length);
  return rows;
}
