'use strict';

// The preset of jest: `preset: '@loomrec/cli'`. Options are in `globals.loomrec`.

module.exports = {
  globalSetup: require.resolve('./jest/global-setup.js'),
  globalTeardown: require.resolve('./jest/global-teardown.js'),
  setupFilesAfterEnv: [require.resolve('./jest/setup.js')],
};
