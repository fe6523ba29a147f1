'use strict';

// Recordings of tests that were renamed or moved: the calls that a test missed prove which is its. Nothing is moved:
// the end of the run prints the command.

const fs = require('node:fs');
const path = require('node:path');
const { quote } = require('./commands.js');

/** The most bytes of a recording that is looked into. */
const MOST_BYTES = 64 * 1024 * 1024;

/**
 * Returns recordings of renamed tests, each with its new path.
 *
 * A recording is one if no test has it, and all calls that a test without a recording has missed are in it. If that is
 * true of several recordings or tests, nothing is proved.
 */
function findMoves(run, files, tests) {
  const missing = tests.filter((test) => test.missing.length > 0);
  if (missing.length === 0) return new Map();
  const fitting = new Map(missing.map(({ recording }) => [recording, []]));
  for (const old of unusedRecordings(run, files)) {
    const hashes = hashesOf(path.join(run.root, old));
    for (const test of missing) {
      if (test.missing.every((hash) => hashes.has(hash))) fitting.get(test.recording).push(old);
    }
  }
  const olds = [...fitting.values()].flat();
  const isProved = (found) => found.length === 1 && olds.filter((old) => old === found[0]).length === 1;
  return new Map([...fitting].filter(([, found]) => isProved(found)).map(([recording, found]) => [found[0], recording]));
}

/** Returns the text with the command that moves recordings, if there are any to move. */
function describeMoves(root, moves) {
  if (moves.size === 0) return [];
  const found =
    moves.size === 1
      ? 'a renamed test are in a recording without a test. To move it'
      : `${moves.size} renamed tests are in recordings without a test. To move them`;
  return [`the calls of ${found}:\n  ${moveCommand(root, moves)}`];
}

/** Returns the command, for the folder in which the framework was started. */
function moveCommand(root, moves) {
  const shown = (file) => quote(path.relative(process.cwd(), path.join(root, file)));
  const folders = [...new Set([...moves.values()].map((file) => path.posix.dirname(file)))];
  const made = folders.filter((folder) => !fs.existsSync(path.join(root, folder)));
  const commands = made.length > 0 ? [`mkdir -p ${made.map(shown).join(' ')}`] : [];
  const together = new Map();
  for (const [old, recording] of moves) {
    if (path.posix.basename(old) !== path.posix.basename(recording)) commands.push(`mv ${shown(old)} ${shown(recording)}`);
    else together.set(path.posix.dirname(recording), [...(together.get(path.posix.dirname(recording)) ?? []), old]);
  }
  for (const [folder, olds] of together) commands.push(`mv ${olds.map(shown).join(' ')} ${shown(folder)}/`);
  return commands.join(' && ');
}

/** Returns recordings that have no test: of files whose tests are all known, and of files that are gone. */
function unusedRecordings({ root, options }, files) {
  const known = new Set(files.flatMap(({ recordings }) => recordings));
  const ran = new Set(files.map(({ folder }) => folder));
  const found = [];
  for (const folder of foldersNamed(root, options.recordings)) {
    for (const child of fs.readdirSync(path.join(root, folder), { withFileTypes: true })) {
      const inside = path.posix.join(folder, child.name);
      const testFile = path.join(root, path.posix.dirname(folder), child.name);
      if (!child.isDirectory() || (!ran.has(inside) && fs.existsSync(testFile))) continue;
      const names = fs.readdirSync(path.join(root, inside)).filter((name) => name.endsWith('.json'));
      found.push(...names.map((name) => path.posix.join(inside, name)).filter((file) => !known.has(file)));
    }
  }
  return found.sort();
}

/** Returns the folders of this name below the root, relative to it. */
function foldersNamed(root, wanted, folder = '') {
  const children = fs.readdirSync(path.join(root, folder), { withFileTypes: true });
  return children.filter((child) => child.isDirectory() && !child.name.startsWith('.') && child.name !== 'node_modules')
    .flatMap(({ name }) => {
      const inside = path.posix.join(folder, name);
      return name === wanted ? [inside] : foldersNamed(root, wanted, inside);
    });
}

/** Returns the hashes of the calls in a recording. */
function hashesOf(file) {
  try {
    if (fs.statSync(file).size > MOST_BYTES) return new Set();
    const content = JSON.parse(fs.readFileSync(file, 'utf8'));
    if (content?._loomrec === undefined) return new Set();
    const takes = Object.values(content).flat().map((take) => take?.request_hash);
    return new Set([...Object.keys(content), ...takes.filter((hash) => typeof hash === 'string')]);
  } catch {
    return new Set(); // a file that cannot be read proves nothing
  }
}

module.exports = { describeMoves, findMoves };
