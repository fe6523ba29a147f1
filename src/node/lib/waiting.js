'use strict';

// Requests that tests have missed and that wait for answers, after a run with LOOMREC_TESTS=review.

const path = require('node:path');
const { quote } = require('./commands.js');

/** Flags of the server that `loomrec rerecord` needs, too. */
const SHARED = ['--upstream', '--redact', '--prices'];

/** Returns the text with the commands for what waits, if anything does. */
function describeWaiting(root, tests, flags) {
  const waiting = tests.filter((test) => test.pending > 0);
  if (waiting.length === 0) return [];
  const common = path.join(root, commonFolder(waiting.map(({ recording }) => recording)));
  // The slash keeps loomrec from taking the word for the key of a call.
  const folder = `${path.relative(process.cwd(), common) || '.'}/`;
  const calls = waiting.reduce((sum, { pending }) => sum + pending, 0);
  const words = ['npx', 'loomrec', 'rerecord', folder, '--pending', ...sharedFlags(flags)];
  const number = calls === 1 ? 'a call waits' : `${calls} calls wait`;
  return [
    `${number} for new answers. If the changes are meant:\n  ${words.map(quote).join(' ')}\n` +
      `  npx loomrec review ${quote(folder)}`,
  ];
}

/** Returns the folder that holds all of these files. */
function commonFolder(files) {
  const [first, ...others] = files.map((file) => path.posix.dirname(file).split('/'));
  const isShared = (_, index) => others.every((parts) => parts.slice(0, index + 1).join('/') === first.slice(0, index + 1).join('/'));
  return first.filter(isShared).join('/');
}

function sharedFlags(flags) {
  return flags.flatMap((word, index) => {
    const value = flags[index + 1] ?? '';
    // An address may hold a password.
    if (SHARED.includes(word)) return value.includes('@') ? [] : [word, value];
    return SHARED.includes(word.split('=')[0]) && !word.includes('@') ? [word] : [];
  });
}

module.exports = { describeWaiting };
