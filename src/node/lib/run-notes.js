'use strict';

// The notes of a run: workers append a line of JSON for each test file and each test, and the end of the run
// reads them. A line is short and written at once, so that lines of several workers do not mix.

const fs = require('node:fs');
const path = require('node:path');
const { describeInForce } = require('./in-force.js');

const NAME = 'notes.jsonl';

function append(run, note) {
  fs.appendFileSync(path.join(run.directory, NAME), `${JSON.stringify(note)}\n`);
}

/** Notes which recordings the tests of a file have. */
function noteFile(run, { file, folder, recordings }) {
  append(run, { kind: 'file', file, folder, recordings });
}

/** Notes how a test went. */
function noteTest(run, { file, name, recording, passed, exists, result }) {
  const { kept, served, recorded, missed, unused, cost, receipt } = result;
  const calls = result.calls.length;
  const failedCalls = receipt.failed_calls ?? {};
  const inForce = served > 0 ? describeInForce(receipt.in_force) : [];
  const pending = receipt.pending?.calls ?? 0;
  // The calls of a test without a recording, if the receipt lists them all.
  const hashes = (receipt.mismatches ?? []).map((mismatch) => mismatch.request_hash);
  const missing = !exists && hashes.length === missed ? hashes : [];
  append(run, {
    kind: 'test', file, name, recording, passed, kept, served, recorded, missed, unused, cost, calls, failedCalls, inForce,
    pending, missing,
  });
}

/** Notes the members of a session that weaken a strict replay, and were asked for. */
function noteAsked(run, members) {
  if (members.length > 0) append(run, { kind: 'asked', members });
}

/** Notes that a test made a call after its end. */
function noteLateCall(run, { file, name }) {
  append(run, { kind: 'late', test: `${file}: ${name}` });
}

/** Returns the last note of each file and of each test, all that was asked for, and the tests with late calls. */
function readNotes(run) {
  const notes = path.join(run.directory, NAME);
  const files = new Map();
  const tests = new Map();
  const asked = [];
  const late = new Set();
  if (!fs.existsSync(notes)) return { files: [], tests: [], asked, late: [] };
  for (const line of fs.readFileSync(notes, 'utf8').split('\n').filter(Boolean)) {
    const note = JSON.parse(line);
    if (note.kind === 'file') files.set(note.file, note);
    else if (note.kind === 'asked') asked.push(...note.members);
    else if (note.kind === 'late') late.add(note.test);
    else tests.set(note.recording, note);
  }
  return { files: [...files.values()], tests: [...tests.values()], asked, late: [...late] };
}

module.exports = { noteAsked, noteFile, noteLateCall, noteTest, readNotes };
