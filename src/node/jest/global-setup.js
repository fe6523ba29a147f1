'use strict';

// Runs once before jest's workers start.

const { startRun } = require('../lib/run.js');

/** The variable that tells the workers about the run. */
const RUN = 'LOOMREC_TESTS_RUN';
/** Where the end of the run finds what it has to stop. */
const STOP = Symbol.for('loomrec.stop-run');

module.exports = async function globalSetup(globalConfig, projectConfig) {
  if (globalThis[STOP]) return; // another project of this run has started it
  const options = projectConfig.globals.loomrec ?? {};
  const { run, stop } = await startRun({ root: globalConfig.rootDir, options, where: 'globals.loomrec in jest.config' });
  globalThis[STOP] = stop;
  process.env[RUN] = JSON.stringify(run);
};
