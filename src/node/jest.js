'use strict';

// The plug-in for jest: `withLoomrec` for its configuration, `useLoomrec` for test files.

const { LoomrecError } = require('./lib/error.js');
const { checkRunOptions } = require('./lib/options.js');
const { useLoomrec } = require('./lib/use-loomrec.js');
const preset = require('./jest-preset.js');

/** Returns a configuration of jest with loomrec in it. */
function withLoomrec(config = {}, options = {}) {
  checkRunOptions(options, 'withLoomrec');
  for (const name of ['globalSetup', 'globalTeardown']) {
    if (config[name] !== undefined) {
      const file = name === 'globalSetup' ? 'global-setup' : 'global-teardown';
      throw new LoomrecError(
        `withLoomrec: the configuration has a ${name} already; leave withLoomrec out, spread ` +
          `require('@loomrec/cli/jest-preset') into the configuration, and call require('@loomrec/cli/jest/${file}') from yours`,
      );
    }
  }
  return {
    ...config,
    ...preset,
    watchPathIgnorePatterns: [...preset.watchPathIgnorePatterns, ...(config.watchPathIgnorePatterns ?? [])],
    setupFilesAfterEnv: [...preset.setupFilesAfterEnv, ...(config.setupFilesAfterEnv ?? [])],
    globals: { ...config.globals, loomrec: options },
  };
}

module.exports = { useLoomrec, withLoomrec };
