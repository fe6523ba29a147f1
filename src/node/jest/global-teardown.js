'use strict';

// Runs once after jest's workers have ended.

const STOP = Symbol.for('loomrec.stop-run');

module.exports = async function globalTeardown() {
  const stop = globalThis[STOP];
  globalThis[STOP] = undefined;
  delete process.env.LOOMREC_TESTS_RUN;
  await stop?.();
};
