'use strict';

// The preset of jest: `preset: '@loomrec/cli'`. Options are in `globals.loomrec`.

module.exports = {
  globalSetup: require.resolve('./jest/global-setup.js'),
  globalTeardown: require.resolve('./jest/global-teardown.js'),
  // What is recorded must not start a watched run again.
  watchPathIgnorePatterns: ['[/\\\\]recordings[/\\\\].*\\.json'],
  setupFilesAfterEnv: [require.resolve('./jest/setup.js')],
};
