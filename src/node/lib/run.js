'use strict';

// A run of a test framework: one server for all workers, and the summary at the end.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { LoomrecError } = require('./error.js');
const { checkRunOptions, chooseMode, fileOptions } = require('./options.js');
const { readNotes } = require('./run-notes.js');
const { startServer } = require('./server.js');
const { summarize } = require('./summary.js');
const { ANY_PREFIX } = require('./test-file.js');

/**
 * Starts a run. `run` is what the workers need to know, as JSON; `stop` ends the run, prints the summary, and
 * throws if something is wrong that no test reported.
 * @param {{root: string, options: object, where: string}} wanted
 */
async function startRun({ root, options, where }) {
  checkRunOptions(options, where);
  const mode = chooseMode(options);
  const { upstream, args = [] } = options;
  const known = { mode, root, options: fileOptions(options) };
  if (mode === 'off') return { run: known, stop: async () => {} };
  const server = await startServer({
    command: mode === 'replay' ? 'replay' : 'record',
    recording: '{session}.json',
    args: [...upstreamFlags(upstream), ...args],
    cwd: root,
  });
  const variables = await server.environment(ANY_PREFIX);
  const directory = fs.mkdtempSync(path.join(os.tmpdir(), 'loomrec-run-'));
  const run = { ...known, url: server.url, variables, directory };
  return { run, stop: () => stopRun(run, server) };
}

/** Returns the flags for upstreams: `{ openai: URL }`, or one URL for calls that name no upstream. */
function upstreamFlags(upstream) {
  if (upstream === undefined) return [];
  if (typeof upstream === 'string') return ['--upstream', upstream];
  return Object.entries(upstream).flatMap(([name, url]) => ['--upstream', `${name}=${url}`]);
}

async function stopRun(run, server) {
  const { exitCode, messages } = await server.stop();
  const notes = readNotes(run);
  fs.rmSync(run.directory, { recursive: true, force: true });
  for (const line of summarize(run, notes)) process.stderr.write(`loomrec: ${line}\n`);
  if (exitCode === 0) return;
  // vitest prints an error of its teardown, and would end with 0 all the same.
  process.exitCode = 1;
  throw LoomrecError.quiet(`something is wrong that no test has reported; loomrec ended with ${exitCode}:\n${messages}`);
}

module.exports = { startRun };
