'use strict';

// The notes of a run: workers append a line of JSON for each test file and each test, and the end of the run
// reads them. A line is short and written at once, so that lines of several workers do not mix.

const fs = require('node:fs');
const path = require('node:path');

const NAME = 'notes.jsonl';

function append(run, note) {
  fs.appendFileSync(path.join(run.directory, NAME), `${JSON.stringify(note)}\n`);
}

/** Notes which recordings the tests of a file have. */
function noteFile(run, { file, folder, recordings }) {
  append(run, { kind: 'file', file, folder, recordings });
}

/** Notes how a test went. */
function noteTest(run, { file, name, recording, passed, result }) {
  const { kept, served, recorded, missed, unused, cost } = result;
  append(run, { kind: 'test', file, name, recording, passed, kept, served, recorded, missed, unused, cost });
}

/** Returns the last note of each file and of each test. */
function readNotes(run) {
  const notes = path.join(run.directory, NAME);
  const files = new Map();
  const tests = new Map();
  if (!fs.existsSync(notes)) return { files: [], tests: [] };
  for (const line of fs.readFileSync(notes, 'utf8').split('\n').filter(Boolean)) {
    const note = JSON.parse(line);
    if (note.kind === 'file') files.set(note.file, note);
    else tests.set(note.recording, note);
  }
  return { files: [...files.values()], tests: [...tests.values()] };
}

module.exports = { noteFile, noteTest, readNotes };
