// What leaves the page: the lines that are shown as a file, a call as a command.

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

/** Copies the open call as a `curl` command. It has variables in place of credentials. */
async function copyCurl(button) {
  const seq = shownCall.seq;
  if (seq === null) return;
  try {
    const response = await ask(`curl?seq=${seq}`);
    const answer = await response.json();
    if (!response.ok) throw new Error(answer.error || "status " + response.status);
    if (answer.command === null) notice(`No command for call #${seq}: ${plain(String(answer.why_none))}.`, "curl");
    else await copy(answer.command, button);
  } catch (error) {
    notice(`No command for call #${seq}: ${plain(error.message)}.`, "curl");
  }
}

function curlButton() {
  const button = el("button", { class: "quiet copy", type: "button", "aria-label": "Copy as curl", title: "Copy as curl (u)" }, "Copy as curl");
  button.addEventListener("click", () => copyCurl(button));
  return button;
}
