'use strict';

// The lines that loomrec prints at the end of a run of tests.

const fs = require('node:fs');
const path = require('node:path');
const { describeMoves, findMoves } = require('./moves.js');
const { describeWaiting } = require('./waiting.js');

/** How many files a line names. */
const MOST_NAMED = 20;

/** Returns the lines of the summary; none if no test used loomrec. `flags` are further flags of the server. */
function summarize(run, { files, tests, late }, flags = []) {
  const used = tests.filter((test) => test.served + test.recorded + test.missed > 0);
  const lines = used.length > 0 ? [firstLine(run.mode, used)] : [];
  const discarded = run.mode === 'replay' ? [] : used.filter((test) => !test.passed && test.recorded > 0);
  lines.push(...named('not kept, because the test failed', discarded.map((test) => test.recording)));
  const failed = tests.filter((test) => test.recorded > 0 && Object.keys(test.failedCalls).length > 0);
  lines.push(...named('calls that failed while they were recorded, and are replayed as failures', failed.map(failedCalls)));
  const silent = tests.filter((test) => test.passed && test.calls === 0);
  lines.push(...named('tests without a call', silent.map((test) => `${test.file}: ${test.name}`)));
  lines.push(...named('calls after the end of their test were refused (wait for them in the test)', late));
  lines.push(...inForceLines(tests));
  const unused = tests.filter((test) => test.passed && test.unused > 0);
  lines.push(...named('takes that no call used', unused.map((test) => `${test.unused} in ${test.recording}`)));
  lines.push(...describeWaiting(run.root, tests, flags));
  const moves = findMoves(run, files, tests);
  lines.push(...describeMoves(run.root, moves));
  lines.push(...named('recordings without a test', findOrphans(run.root, files).filter((file) => !moves.has(file))));
  return lines;
}

function firstLine(mode, tests) {
  const passed = tests.filter((test) => test.passed).length;
  const failed = tests.length - passed;
  const cost = formatCost(tests);
  const counted = `${passed} ${passed === 1 ? 'test' : 'tests'}`;
  const also = failed > 0 ? `, ${failed} failed` : '';
  return mode === 'replay' ? `${counted} replayed${also}, ${cost} saved` : `${counted} recorded${also}, ${cost} spent`;
}

function failedCalls({ file, name, failedCalls: counts }) {
  const counted = Object.entries(counts).map(([what, number]) => `${what}: ${number}`);
  return `${file}: ${name} (${counted.join(', ')})`;
}

/** Returns the line that says what the replays of tests went by besides their recordings. */
function inForceLines(tests) {
  const counts = new Map();
  for (const text of tests.flatMap((test) => test.inForce)) counts.set(text, (counts.get(text) ?? 0) + 1);
  const texts = [...counts].sort().map(([text, count]) => `${text} (${count} ${count === 1 ? 'test' : 'tests'})`);
  return texts.length > 0 ? [`in force: ${texts.join(' · ')}`] : [];
}

/** Returns the cost of the tests in US dollars. */
function formatCost(tests) {
  const known = tests.filter((test) => test.cost !== null);
  const sum = known.reduce((total, test) => total + test.cost, 0);
  const text = sum === 0 || sum >= 0.01 ? `$${sum.toFixed(2)}` : `$${Number(sum.toFixed(6))}`;
  return known.length < tests.length ? `at least ${text}` : text;
}

function named(title, names) {
  if (names.length === 0) return [];
  const more = names.length > MOST_NAMED ? `, and ${names.length - MOST_NAMED} more` : '';
  return [`${title}: ${names.slice(0, MOST_NAMED).join(', ')}${more}`];
}

/**
 * Returns recordings whose test no longer exists: those of the test files of this run, and those of deleted test
 * files in the same folders.
 */
function findOrphans(root, files) {
  const known = new Set(files.flatMap(({ recordings }) => recordings));
  const folders = new Set(files.map(({ folder }) => path.posix.dirname(folder)));
  const ran = new Set(files.map(({ folder }) => folder));
  const orphans = [];
  for (const folder of folders) {
    for (const child of readFolder(path.join(root, folder))) {
      const inside = path.posix.join(folder, child.name);
      const testFile = path.join(root, path.posix.dirname(folder), child.name);
      if (!child.isDirectory() || (!ran.has(inside) && fs.existsSync(testFile))) continue;
      const recordings = readFolder(path.join(root, inside)).filter(({ name }) => name.endsWith('.json'));
      orphans.push(...recordings.map(({ name }) => path.posix.join(inside, name)).filter((file) => !known.has(file)));
    }
  }
  return orphans.sort();
}

function readFolder(folder) {
  return fs.existsSync(folder) ? fs.readdirSync(folder, { withFileTypes: true }) : [];
}

module.exports = { summarize };
