'use strict';

// Finding the loomrec binary: LOOMREC_BIN, or else the package for this platform, or else the PATH.

const fs = require('node:fs');
const path = require('node:path');
const { LoomrecError } = require('./error.js');

/** The platforms that have a package, as `process.platform`-`process.arch`, `-musl` added. */
const PLATFORMS = ['darwin-arm64', 'darwin-x64', 'linux-arm64', 'linux-arm64-musl', 'linux-x64', 'linux-x64-musl'];

const PROGRAM = process.platform === 'win32' ? 'loomrec.exe' : 'loomrec';

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
    const found = findOnPath();
    if (found) return found;
    throw new LoomrecError(
      `@loomrec/cli has no binary for ${platform}; build loomrec with cargo, and put it on the PATH or name it in LOOMREC_BIN`,
    );
  }
  return findPackagedBinary(platform);
}

/** Returns the binary on the PATH, as `cargo install` puts it there. Scripts are left out: this launcher is one. */
function findOnPath() {
  for (const folder of (process.env.PATH ?? '').split(path.delimiter)) {
    const file = path.join(folder, PROGRAM);
    if (folder && fs.statSync(file, { throwIfNoEntry: false })?.isFile() && !isScript(file)) return file;
  }
  return undefined;
}

function isScript(file) {
  const start = Buffer.alloc(2);
  let opened;
  try {
    opened = fs.openSync(file, 'r');
    fs.readSync(opened, start, 0, 2, 0);
  } catch {
    return true; // a file that cannot be read cannot be judged
  } finally {
    if (opened !== undefined) fs.closeSync(opened);
  }
  return start.toString('latin1') === '#!';
}

function findPackagedBinary(platform) {
  const name = `@loomrec/cli-${platform}`;
  try {
    return require.resolve(`${name}/bin/${PROGRAM}`);
  } catch (cause) {
    const found = findOnPath();
    if (found) return found;
    throw new LoomrecError(
      `the package ${name}, which holds the loomrec binary, is not installed. It is an optional dependency of ` +
        '@loomrec/cli: install again on this platform and without --omit=optional or --no-optional, ' +
        'or put a binary on the PATH, or name it in LOOMREC_BIN',
      { cause },
    );
  }
}

module.exports = { findBinary, platformName, PLATFORMS };
