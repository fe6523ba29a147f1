'use strict';

// A run of a test framework: one server for all workers, and the summary at the end.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { LoomrecError } = require('./error.js');
const { checkRunOptions, chooseMode, fileOptions, serverDigest } = require('./options.js');
const { foreignControl } = require('./in-force.js');
const { readNotes } = require('./run-notes.js');
const { startServer } = require('./server.js');
const { summarize } = require('./summary.js');
const { ANY_PREFIX } = require('./test-file.js');

/** The receipt of the server, in the folder of the run. */
const RECEIPT = 'receipt.json';

/**
 * Starts a run. `run` is what the workers need to know, as JSON; `stop` ends the run, prints the summary, and
 * throws if something is wrong that no test reported.
 * @param {{root: string, options: object, where: string}} wanted
 */
async function startRun({ root, options, where }) {
  checkRunOptions(options, where);
  const mode = chooseMode(options);
  const { upstream, args = [] } = options;
  const flags = [...upstreamFlags(upstream), ...args];
  const keeps = mode === 'review';
  const known = { mode: keeps ? 'replay' : mode, root, cwd: process.cwd(), options: fileOptions(options), server: serverDigest(options) };
  if (mode === 'off') return { run: known, stop: async () => {} };
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'loomrec-run-'));
  const server = await startServer({
    command: known.mode === 'replay' ? 'replay' : 'record',
    recording: '{session}.json',
    args: [...(keeps ? ['--pending'] : []), '--receipt', path.join(directory, RECEIPT), ...flags],
    cwd: root,
  });
  const variables = await server.environment(ANY_PREFIX);
  const run = { ...known, url: server.url, variables, directory };
  return { run, stop: () => stopRun(run, server, flags) };
}

/** Returns the flags for upstreams: `{ openai: URL }`, or one URL for calls that name no upstream. */
function upstreamFlags(upstream) {
  if (upstream === undefined) return [];
  if (typeof upstream === 'string') return ['--upstream', upstream];
  return Object.entries(upstream).flatMap(([name, url]) => ['--upstream', `${name}=${url}`]);
}

async function stopRun(run, server, flags) {
  const { exitCode, messages } = await server.stop();
  const notes = readNotes(run);
  const receipt = readReceipt(run);
  const escapes = receipt.escapes ?? [];
  const foreign = foreignControl(receipt.in_force, notes.asked);
  fs.rmSync(run.directory, { recursive: true, force: true });
  for (const line of summarize(run, notes, flags)) process.stderr.write(`loomrec: ${line}\n`);
  if (exitCode === 0 && escapes.length === 0 && foreign.length === 0) return;
  // vitest prints an error of its teardown, and would end with 0 all the same.
  process.exitCode = 1;
  if (escapes.length > 0) {
    const hosts = escapes.map(({ host, count }) => `${host} (${count})`).join(', ');
    throw LoomrecError.quiet(
      `connections went around loomrec, and their calls are in no recording: ${hosts}; have the program use the base ` +
        'URL of the environment',
    );
  }
  if (foreign.length > 0) {
    throw LoomrecError.quiet(`control calls of the tests changed what a strict replay answers: ${foreign.join(', ')}`);
  }
  throw LoomrecError.quiet(`something is wrong that no test has reported; loomrec ended with ${exitCode}:\n${messages}`);
}

/** Returns the receipt of the server. */
function readReceipt(run) {
  try {
    return JSON.parse(fs.readFileSync(path.join(run.directory, RECEIPT), 'utf8'));
  } catch {
    return {}; // the server has written none, and its exit code says why
  }
}

module.exports = { startRun };
