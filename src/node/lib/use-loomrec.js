'use strict';

// `useLoomrec`, which test files call.

const { LoomrecError } = require('./error.js');
const { currentTestFile } = require('./test-file.js');

/** What loomrec knows about the test that runs. */
class LoomrecHandle {
  #file;

  constructor(file) {
    this.#file = file;
  }

  /** How the tests of this run are run: `replay`, `record`, `new` or `off`. */
  get mode() {
    return this.#file.run.mode;
  }

  /** The base URL of this worker, for clients that read no variable; undefined if loomrec is off. */
  get url() {
    return this.#file.url;
  }

  /** The file of this test's recording, relative to the project; undefined if loomrec is off. */
  get recording() {
    return this.mode === 'off' ? undefined : this.#file.session.recording;
  }

  /** Returns the calls of this test that have ended. */
  async calls() {
    return this.mode === 'off' ? [] : (await this.#file.session.show()).calls;
  }

  /** Returns the tokens of this test so far. */
  async usage() {
    return this.mode === 'off' ? { input: 0, output: 0 } : (await this.#file.session.show()).usage;
  }

  /** Returns the cost of this test so far in US dollars; null if it is not known. */
  async cost() {
    return this.mode === 'off' ? null : (await this.#file.session.show()).cost;
  }

  /** Names a value that differs in each run, such as a temporary folder. Call it before the test's first call. */
  async var(name, value) {
    if (this.mode !== 'off') await this.#file.addVars({ [name]: String(value) });
  }
}

/**
 * Makes the tests of the file or describe block in which it is called use loomrec with these options.
 */
function useLoomrec(options = {}) {
  const file = currentTestFile();
  if (file === undefined) {
    throw new LoomrecError(
      "loomrec's part of the test framework's configuration is missing: add loomrec() to the plugins of " +
        "vitest.config, or preset: '@loomrec/cli' to jest.config",
    );
  }
  file.applyOptions(options);
  return new LoomrecHandle(file);
}

module.exports = { useLoomrec };
