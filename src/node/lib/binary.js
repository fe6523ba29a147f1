'use strict';

// Finding the loomrec binary: LOOMREC_BIN, or else the package for this platform.

const fs = require('node:fs');
const { LoomrecError } = require('./error.js');

/** The platforms that have a package, as `process.platform`-`process.arch`, `-musl` added. */
const PLATFORMS = ['darwin-arm64', 'darwin-x64', 'linux-arm64', 'linux-arm64-musl', 'linux-x64', 'linux-x64-musl'];

/** Returns whether this Node runs on musl, as in Alpine Linux. */
function isMusl() {
  if (process.platform !== 'linux' || !process.report) return false;
  const before = process.report.excludeNetwork;
  process.report.excludeNetwork = true; // else the report looks up names of hosts
  try {
    const report = process.report.getReport();
    const { header } = typeof report === 'string' ? JSON.parse(report) : report;
    return !header.glibcVersionRuntime;
  } finally {
    process.report.excludeNetwork = before;
  }
}

/** Returns the name of this platform, such as `linux-x64`. */
function platformName() {
  return `${process.platform}-${process.arch}${isMusl() ? '-musl' : ''}`;
}

/**
 * Returns the path of the loomrec binary. Throws a LoomrecError that says what to do if there is none.
 * @returns {string}
 */
function findBinary() {
  const named = process.env.LOOMREC_BIN;
  if (named) {
    if (!fs.statSync(named, { throwIfNoEntry: false })?.isFile()) {
      throw new LoomrecError(`LOOMREC_BIN names ${named}, which is not a file`);
    }
    return named;
  }
  const platform = platformName();
  if (!PLATFORMS.includes(platform)) {
    throw new LoomrecError(
      `@loomrec/cli has no binary for ${platform}; build loomrec with cargo, and name the binary in LOOMREC_BIN`,
    );
  }
  return findPackagedBinary(platform);
}

function findPackagedBinary(platform) {
  const name = `@loomrec/cli-${platform}`;
  const program = process.platform === 'win32' ? 'loomrec.exe' : 'loomrec';
  try {
    return require.resolve(`${name}/bin/${program}`);
  } catch (cause) {
    throw new LoomrecError(
      `the package ${name}, which holds the loomrec binary, is not installed. It is an optional dependency of ` +
        '@loomrec/cli: install again on this platform and without --omit=optional or --no-optional, ' +
        'or name a binary in LOOMREC_BIN',
      { cause },
    );
  }
}

module.exports = { findBinary, platformName, PLATFORMS };
