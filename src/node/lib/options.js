'use strict';

// The options of a run and of a session: their names, their kinds, and how the server calls them.

const { createHash } = require('node:crypto');
const { LoomrecError } = require('./error.js');

/** Options of a session in JavaScript, and the names that the server has for them. */
const SESSION_MEMBERS = {
  prefix: 'prefix',
  name: 'name',
  recording: 'recording',
  mode: 'mode',
  fault: 'fault',
  faults: 'faults',
  seed: 'seed',
  recovery: 'recovery',
  ignore: 'ignore',
  ignoreHeaders: 'ignore_headers',
  normalize: 'normalize',
  vars: 'vars',
};
/** Members of a session that change what a strict replay answers. */
const WEAKENING = ['faults', 'fault', 'ignore', 'ignore_headers', 'normalize', 'vars'];
/** Options that take one text or a list of texts. */
const LISTS = ['fault', 'ignore', 'ignoreHeaders', 'normalize'];
/** Options that a test may have. */
const TEST_OPTIONS = ['fault', 'faults', 'seed', 'recovery', 'ignore', 'ignoreHeaders', 'normalize',
  'vars', 'failUnused'];
/** Options that are the same for all tests of a run. */
const RUN_OPTIONS = ['mode', 'auto', 'recordings', 'upstream', 'args', 'ignore', 'ignoreHeaders', 'normalize',
  'vars', 'failUnused'];
const MODES = ['replay', 'review', 'record', 'new', 'off'];

/** Throws a LoomrecError if an object has a member that is not among the known names. */
function checkNames(object, known, where) {
  for (const name of Object.keys(object)) {
    if (known.includes(name)) continue;
    const near = known.find((other) => editDistance(name.toLowerCase(), other.toLowerCase()) <= 2);
    const hint = near ? `did you mean ${near}?` : `known: ${known.join(', ')}`;
    throw new LoomrecError(`${where}: unknown option ${name}; ${hint}`);
  }
}

/** Returns the number of characters to insert, remove or replace to get from one text to the other. */
function editDistance(from, to) {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let i = 1; i <= from.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= to.length; j += 1) {
      next[j] = Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + (from[i - 1] === to[j - 1] ? 0 : 1));
    }
    row = next;
  }
  return row[to.length];
}

function toList(value) {
  if (value === undefined) return undefined;
  return Array.isArray(value) ? value : [value];
}

/** Returns the members that `POST /__loomrec/session` takes. */
function toSessionRequest(options) {
  checkNames(options, Object.keys(SESSION_MEMBERS), 'begin');
  const request = {};
  for (const [name, member] of Object.entries(SESSION_MEMBERS)) {
    const value = LISTS.includes(name) ? toList(options[name]) : options[name];
    if (value !== undefined) request[member] = value;
  }
  return request;
}

/** Returns the members that a session asks for and that weaken a strict replay; empty ones do not count. */
function weakeningMembers(options) {
  const isGiven = (value) => value !== undefined && value !== null && (typeof value !== 'object' || Object.keys(value).length > 0);
  const request = toSessionRequest(options);
  return WEAKENING.filter((member) => isGiven(request[member]));
}

/** Returns the options of a test: those of the run and of each `useLoomrec` around it, the inner ones last. */
function mergeTestOptions(layers) {
  const merged = {};
  for (const layer of layers) {
    for (const [name, value] of Object.entries(layer)) {
      if (value === undefined) continue;
      if (name === 'vars') merged.vars = { ...merged.vars, ...value };
      else if (name !== 'fault' && LISTS.includes(name)) merged[name] = [...(merged[name] ?? []), ...toList(value)];
      else merged[name] = value;
    }
  }
  return merged;
}

/** Checks the options of a run. */
function checkRunOptions(options, where) {
  checkNames(options, RUN_OPTIONS, where);
  if (options.mode !== undefined) checkMode(options.mode, `${where}: mode`);
  const folder = options.recordings ?? 'recordings';
  if (/[\\/]/.test(folder) || folder === '' || folder === '.' || folder === '..') {
    throw new LoomrecError(`${where}: recordings is ${JSON.stringify(folder)}, but must be the name of a folder`);
  }
  return options;
}

/** Returns those options of a run that test files go by. */
function fileOptions({ auto, recordings = 'recordings', upstream: _upstream, args: _args, mode: _mode, ...test }) {
  return { auto: toList(auto) ?? [], recordings, test };
}

/** Returns a hash of the options that one server has for all tests. They may hold secrets. */
function serverDigest({ mode, upstream, args = [] }) {
  const text = JSON.stringify([chooseMode({ mode }), upstream ?? null, args]);
  return createHash('sha256').update(text).digest('hex');
}

function checkMode(mode, where) {
  if (!MODES.includes(mode)) throw new LoomrecError(`${where} is ${mode}, but must be one of ${MODES.join(', ')}`);
  return mode;
}

/**
 * Returns the mode of a run: that of the variable LOOMREC_TESTS, else that of the options, else `replay`.
 * In CI, nothing is recorded.
 */
function chooseMode(options, environment = process.env) {
  const named = environment.LOOMREC_TESTS;
  const mode = named ? checkMode(named, 'LOOMREC_TESTS') : (options.mode ?? 'replay');
  const inCi = !['', '0', 'false'].includes((environment.CI ?? '').toLowerCase());
  if (inCi && (mode === 'record' || mode === 'new')) {
    const source = named ? `LOOMREC_TESTS=${named}` : `the option mode: '${mode}'`;
    throw new LoomrecError(`${source} is refused because CI is set: in CI, tests are only replayed. Record on your machine`);
  }
  return mode;
}

module.exports = {
  checkNames, checkRunOptions, chooseMode, fileOptions, mergeTestOptions, serverDigest, toList, toSessionRequest, weakeningMembers, TEST_OPTIONS,
};
