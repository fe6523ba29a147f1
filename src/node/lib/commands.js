'use strict';

// The commands that record one test.

/** Returns a text as a word of a POSIX shell. */
function quote(text) {
  return /^[\w./@:+=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** Returns a pattern that matches the full name of a test, as both frameworks see it, with blanks between. */
function pattern(name) {
  const plain = name.replaceAll(' > ', ' ').replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  return quote(`^${plain}$`);
}

function vitest(file, name) {
  return `LOOMREC_TESTS=record npx vitest run ${quote(file)} -t ${pattern(name)}`;
}

function jest(file, name) {
  return `LOOMREC_TESTS=record npx jest ${quote(file)} -t ${pattern(name)}`;
}

module.exports = { jest, vitest };
