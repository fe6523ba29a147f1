// What leaves the page: the lines that are shown, as a file.

/** Saves the lines that are shown, as a journal: `loomrec ui FILE -r RECORDING` shows them again. */
function exportShown() {
  const lines = [...state.shown].sort((a, b) => a.place - b.place).map((call) => call.raw + "\n");
  const from = ((state.run && state.run.files) || [])[0] || "loomrec";
  const name = from.split("/").pop().replace(/\.(json|jsonl)$/, "").replace(/[^\w.-]+/g, "-") || "loomrec";
  const address = URL.createObjectURL(new Blob(lines, { type: "application/x-ndjson" }));
  const link = el("a", { href: address, download: `${name}-calls.jsonl` });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
  say(`${plural(lines.length, "call")} exported`);
}
