// Runs in vitest's workers before each test file is imported.

import * as vitest from 'vitest';
import testFiles from '../lib/test-file.js';
import commands from '../lib/commands.js';
import errors from '../lib/error.js';
import names from '../lib/recording-names.js';

const { LoomrecError } = errors;
const { fullName } = names;
const { afterAll, beforeAll, beforeEach, expect, inject } = vitest;

/** How long loomrec may take to begin or to end a session: it waits up to 10 seconds for calls. */
const PATIENCE = 30_000;

const file = testFiles.openTestFile({
  run: inject('loomrec'),
  testFile: expect.getState().testPath,
  worker: process.env.VITEST_WORKER_ID ?? process.env.VITEST_POOL_ID,
  framework: { beforeAll, afterAll, command: commands.vitest },
});

/** Tests that loomrec has failed. */
const failed = new Set();

// Since vitest 4.1, a hook can surround a test and its other hooks. Before, each function is bound.
vitest.aroundEach?.(async (runTest) => (file.active ? file.runTest(runTest) : runTest()));
const functions = vitest.aroundEach ? null : await import('vitest/suite');

beforeEach(async ({ task, onTestFinished }) => {
  if (!file.active) return;
  if (task.concurrent) file.refuseConcurrency();
  const isFirst = file.noteTests(new Map(testsBelow(task.file).map((test) => [test, partsOf(test)])));
  if (isFirst && functions) bindBelow(task.file, functions);
  await file.beginTest(task);
  // These hooks run after every afterEach, the one that was added first at the end.
  onTestFinished(async () => {
    try {
      await file.endTest({ passed: hasPassed(task) });
    } catch (error) {
      // This is not the failure that a test which is to fail expects, and no skip hides it.
      task.fails = false;
      task.result.pending = false;
      failed.add(task);
      throw error;
    }
  }, PATIENCE);
}, PATIENCE);

// A later attempt, or a hook around the test, may skip it all the same.
afterAll(() => {
  const skipped = [...failed].filter((task) => task.result.state === 'skip').map((task) => fullName(partsOf(task)));
  if (skipped.length > 0) throw LoomrecError.quiet(`tests failed, and were skipped then: ${skipped.join(', ')}`);
});

function hasPassed(task) {
  return (task.result.state === 'fail') === (task.fails === true);
}

/** Has the calls of each test, and of the hooks around it, belong to that test. */
function bindBelow(suite, { getFn, getHooks, setFn }) {
  const hooks = getHooks(suite);
  for (const kind of [hooks.beforeEach, hooks.afterEach]) kind.forEach((hook, index) => { kind[index] = file.bindToTest(hook); });
  for (const task of suite.tasks) {
    if (task.type === 'suite') bindBelow(task, { getFn, getHooks, setFn });
    else setFn(task, file.bindToTest(getFn(task)));
  }
}

function testsBelow(suite) {
  return suite.tasks.flatMap((task) => (task.type === 'suite' ? testsBelow(task) : [task]));
}

/** Returns the names of the blocks around a test and its own. */
function partsOf(task) {
  const around = task.suite && task.suite !== task.file ? partsOf(task.suite) : [];
  return [...around, task.name];
}
