'use strict';

// Runs in jest's workers before each test file is imported.

const { jest: command } = require('../lib/commands.js');
const { LoomrecError } = require('../lib/error.js');
const { checkRunOptions, fileOptions, serverDigest } = require('../lib/options.js');
const { openTestFile } = require('../lib/test-file.js');

/** How long loomrec may take to begin or to end a session: it waits up to 10 seconds for calls. */
const PATIENCE = 30_000;

const { afterAll, afterEach, beforeAll, beforeEach, expect } =
  typeof globalThis.beforeEach === 'function' ? globalThis : require('@jest/globals');

/** Returns the run that globalSetup started. */
function currentRun() {
  const text = process.env.LOOMREC_TESTS_RUN;
  // The run is that of all projects; a project has its own options for its tests.
  const options = checkRunOptions(globalThis.loomrec ?? {}, 'globals.loomrec in jest.config');
  if (text) {
    const run = JSON.parse(text);
    if (run.server === serverDigest(options)) return { ...run, options: fileOptions(options) };
    throw new LoomrecError(
      'globals.loomrec in jest.config: mode, upstream and args must be the same in all projects of a run, since they ' +
        'share a server; run a project with others by itself: npx jest --selectProjects NAME',
    );
  }
  throw new LoomrecError(
    "the globalSetup of @loomrec/cli did not run; if the configuration has one of its own, call require('@loomrec/cli/jest/global-setup') from it",
  );
}

/** Returns the state of jest-circus, which knows all tests of the file and the errors of the one that runs. */
function circusState() {
  const symbol = Object.getOwnPropertySymbols(globalThis).find((one) => one.description === 'JEST_STATE_SYMBOL');
  if (symbol) return globalThis[symbol];
  throw new LoomrecError("@loomrec/cli needs jest's own runner, jest-circus");
}

function testsBelow(block) {
  return block.children.flatMap((child) => (child.type === 'describeBlock' ? testsBelow(child) : [child]));
}

/** Has the calls of each test, and of the hooks around it, belong to that test. */
function bindBelow(block) {
  const ofTests = block.hooks.filter(({ type }) => type === 'beforeEach' || type === 'afterEach');
  const tests = block.children.filter(({ type }) => type === 'test');
  for (const one of [...ofTests, ...tests]) one.fn = file.bindToTest(one.fn);
  for (const child of block.children) if (child.type === 'describeBlock') bindBelow(child);
}

/** Returns the names of the blocks around a test and its own. */
function partsOf(child) {
  return child.parent ? [...partsOf(child.parent), child.name] : [];
}

/** Returns whether a test has passed: of one that is to fail, jest takes the failure for none. */
function hasPassed(test) {
  return test.errors.length === 0;
}

const file = openTestFile({
  run: currentRun(),
  testFile: expect.getState().testPath,
  worker: process.env.JEST_WORKER_ID,
  framework: { beforeAll, afterAll, command },
});

beforeAll(() => {
  if (!file.active) return;
  const tests = testsBelow(circusState().rootDescribeBlock);
  if (tests.some((test) => test.concurrent)) file.refuseConcurrency();
  if (file.noteTests(new Map(tests.map((test) => [test, partsOf(test)])))) bindBelow(circusState().rootDescribeBlock);
});

beforeEach(async () => {
  if (file.active) await file.beginTest(circusState().currentlyRunningTest);
}, PATIENCE);

afterEach(async () => {
  if (file.active) await file.endTest({ passed: hasPassed(circusState().currentlyRunningTest) });
}, PATIENCE);
