'use strict';

// The plug-in for vitest: `loomrec` for its configuration, `useLoomrec` for test files.

const path = require('node:path');
const { checkRunOptions } = require('./lib/options.js');
const { useLoomrec } = require('./lib/use-loomrec.js');

const SETUP = path.join(__dirname, 'vitest', 'setup.mjs');
const GLOBAL_SETUP = path.join(__dirname, 'vitest', 'global-setup.mjs');

/** Returns the plug-in for `plugins` in vitest.config. */
function loomrec(options = {}) {
  checkRunOptions(options, 'loomrec() in vitest.config');
  return {
    name: 'loomrec',
    config(config) {
      const test = (config.test ??= {});
      // First, so that a setup file of the project may build clients, too; and one after the other.
      test.setupFiles = [SETUP, ...toArray(test.setupFiles)];
      test.globalSetup = [GLOBAL_SETUP, ...toArray(test.globalSetup)];
      test.sequence = { setupFiles: 'list', ...test.sequence };
      test.provide = { ...test.provide, loomrecOptions: options };
      addDependencyRules(test);
    },
  };
}

/** The setup file is run again for each test file; everything else is loaded once, by Node itself. */
function addDependencyRules(test) {
  const deps = ((test.server ??= {}).deps ??= {});
  const folder = escape(__dirname.split(path.sep).join('/'));
  if (deps.inline !== true) deps.inline = [...toArray(deps.inline), new RegExp(`${folder}/vitest/setup\\.mjs`)];
  deps.external = [...toArray(deps.external), new RegExp(`${folder}/(lib/|index\\.|vitest\\.)`)];
}

function toArray(value) {
  if (value === undefined) return [];
  return Array.isArray(value) ? value : [value];
}

function escape(text) {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}

module.exports = { loomrec, useLoomrec };
