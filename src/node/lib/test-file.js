'use strict';

// One test file in a worker: whether it uses loomrec, its variables, and the session of the test that runs.
// The adapters for vitest and jest open it before the file is imported, and report each test to it.

const fs = require('node:fs');
const path = require('node:path');
const { LoomrecError } = require('./error.js');
const { matchesGlob } = require('./glob.js');
const { bindToContext, currentContext, runInContext, watchLateCalls } = require('./late-calls.js');
const { takeDirectCalls, watchDirectCalls } = require('./direct-calls.js');
const { checkNames, mergeTestOptions, weakeningMembers, TEST_OPTIONS } = require('./options.js');
const { fullName, recordingNames } = require('./recording-names.js');
const { noteAsked, noteFile, noteLateCall, noteTest } = require('./run-notes.js');
const { LoomrecClient } = require('./session.js');
const { findProblem } = require('./verdict.js');

/** Where the open test file is kept: a module may be loaded twice, by a bundler or after a reset. */
const CURRENT = Symbol.for('loomrec.test-file');
const REPLACED = Symbol.for('loomrec.replaced-variables');
/** The prefix in the variables of the run, in place of each worker's own. */
const ANY_PREFIX = 'loomrec-worker';

/** A test file that is being run. */
class TestFile {
  #tests;
  #current;
  /** What chooses the file on the command line of the run. */
  #argument;
  #layers = [];

  /**
   * @param {{run: object, testFile: string, worker: string, framework: object}} opened `run` is what
   *   `startRun` returned; `framework` has `beforeAll` and `afterAll`,
   *   and `command`, which returns the command that records a test.
   */
  constructor({ run, testFile, worker, framework }) {
    this.run = run;
    this.framework = framework;
    this.prefix = `worker-${worker ?? '1'}`;
    this.path = path.relative(run.root, testFile).split(path.sep).join('/');
    this.#argument = path.relative(run.cwd, testFile).split(path.sep).join('/');
    this.active = false;
    if (run.mode !== 'off' && usesLoomrec(testFile, this.path, run.options.auto)) this.activate();
    else restoreVariables();
  }

  /** The base URL for the worker's calls, or undefined if loomrec is off. */
  get url() {
    return this.run.mode === 'off' ? undefined : `${this.run.url}/@${this.prefix}`;
  }

  /** Points SDKs at loomrec, for clients that are built from now on. */
  activate() {
    if (this.active || this.run.mode === 'off') return;
    if (this.path.startsWith('../')) {
      throw new LoomrecError(`${this.path} is outside of the project ${this.run.root}, so it can have no recordings`);
    }
    this.active = true;
    this.framework.afterAll(watchDirectCalls());
    watchLateCalls({ server: this.run.url, prefix: this.prefix, report: ({ file, name }) => noteLateCall(this.run, { file, name }) });
    setVariables(this.run.variables, this.prefix);
  }

  /** Applies options to the tests of the block in which this is called. */
  applyOptions(options) {
    checkNames(options, TEST_OPTIONS, 'useLoomrec');
    this.activate();
    this.framework.beforeAll(() => void this.#layers.push(options));
    this.framework.afterAll(() => {
      this.#layers = this.#layers.filter((layer) => layer !== options);
    });
  }

  /**
   * Notes all tests of the file, which decides the names of their recordings. Only the first call counts:
   * a framework may change the order of the tests while they run.
   * @param {Map<object, string[]>} tests the names of the blocks around each test, and its own
   * @returns {boolean} whether this was the first call
   */
  noteTests(tests) {
    if (!this.active || this.#tests !== undefined) return false;
    const folder = path.posix.join(path.posix.dirname(this.path), this.run.options.recordings, path.posix.basename(this.path));
    const recordings = recordingNames([...tests.values()].map(fullName)).map((name) => path.posix.join(folder, `${name}.json`));
    const noted = [...tests].map(([test, parts], index) => [test, { parts, recording: recordings[index] }]);
    this.#tests = new Map(noted);
    noteFile(this.run, { file: this.path, folder, recordings });
    return true;
  }

  /** Runs a test with its hooks: `beginTest` says which test it is. */
  runTest(run) {
    return runInContext({ ended: false }, run);
  }

  /** Returns a test or a hook as a function whose calls belong to the test that runs when it is called. */
  bindToTest(fn) {
    return bindToContext(fn, () => this.#current?.context);
  }

  /** Begins the session of a test, which `noteTests` has noted. */
  async beginTest(test) {
    if (!this.active) return;
    if (this.#current) this.refuseConcurrency();
    const { parts, recording } = this.#tests.get(test);
    const name = fullName(parts);
    const { failUnused, ...options } = mergeTestOptions([this.run.options.test, ...this.#layers]);
    const wanted = { ...options, prefix: this.prefix, name: `${this.path} > ${name}`, recording, mode: this.run.mode };
    const context = Object.assign(currentContext() ?? { ended: false }, { file: this.path, name });
    this.#current = { name, recording, failUnused, command: this.framework.command(this.#argument, parts), context };
    try {
      this.#current.session = await beginSession(this.run.url, wanted);
      this.#current.asked = new Set(weakeningMembers(wanted));
      noteAsked(this.run, [...this.#current.asked]);
    } catch (error) {
      this.#current = undefined;
      throw error;
    }
  }

  /** Ends the session of the test. Throws if loomrec found something wrong, whether the test passed or not. */
  async endTest({ passed }) {
    const test = this.#current;
    if (test === undefined) return;
    this.#current = undefined;
    test.context.ended = true;
    const direct = await takeDirectCalls(this.run.variables.HTTPS_PROXY);
    const judge = (result) => findProblem(result, { ...test, exists: test.session.exists, direct });
    // What would fail the test must be known before its recording is kept.
    const good = passed && (this.run.mode === 'replay' || judge(await test.session.show()) === null);
    const result = await test.session.end({ keep: good });
    const problem = judge(result);
    noteTest(this.run, { file: this.path, ...test, exists: test.session.exists, passed: passed && problem === null, result });
    if (problem !== null) throw LoomrecError.quiet(problem);
  }

  /** Adds values of the run to the session of the test, before its first call. */
  async addVars(vars) {
    await this.session.addVars(vars);
    // The server begins the session again.
    noteAsked(this.run, [...this.#current.asked.add('vars')]);
  }

  /** The session of the test that runs. */
  get session() {
    if (this.#current?.session) return this.#current.session;
    throw new LoomrecError('no test is running, so loomrec has no session: ask within a test, or in beforeEach');
  }

  /** Throws the error for tests that run at the same time in one file. */
  refuseConcurrency() {
    throw LoomrecError.quiet(
      'tests with loomrec cannot run at the same time in one file: use test instead of test.concurrent, ' +
        'and put tests that should run in parallel into several files',
    );
  }
}

/** Begins a session. One that a killed worker left behind is ended first. */
async function beginSession(url, wanted) {
  const client = new LoomrecClient(url);
  try {
    return await client.begin(wanted);
  } catch (error) {
    if (error.status !== 409) throw error;
    try {
      await client.endSession(wanted.prefix, { keep: false });
    } catch (other) {
      // No session has the prefix: the server refused the begin since another records into the file.
      throw other.status === 404 ? error : other;
    }
    return client.begin(wanted);
  }
}

/** Returns whether a test file is among those that always use loomrec, or has loomrec's name in it. */
function usesLoomrec(file, relative, auto) {
  return auto.some((pattern) => matchesGlob(pattern, relative)) || fs.readFileSync(file, 'utf8').includes('@loomrec/cli');
}

function setVariables(variables, prefix) {
  restoreVariables();
  const replaced = (process[REPLACED] = new Map());
  for (const [name, value] of Object.entries(variables)) {
    replaced.set(name, process.env[name]);
    process.env[name] = value.replaceAll(`/@${ANY_PREFIX}`, `/@${prefix}`);
  }
}

/** Takes back what an earlier file of this worker has set. */
function restoreVariables() {
  for (const [name, value] of process[REPLACED] ?? []) {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  }
  process[REPLACED] = undefined;
}

/** Opens a test file. The next one takes its place. */
function openTestFile(opened) {
  globalThis[CURRENT] = new TestFile(opened);
  return globalThis[CURRENT];
}

function currentTestFile() {
  return globalThis[CURRENT];
}

module.exports = { ANY_PREFIX, currentTestFile, openTestFile };
