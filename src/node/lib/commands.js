'use strict';

// The commands that record one test.

/** Returns a text as a word of a POSIX shell. */
function quote(text) {
  return /^[\w./@:+=-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

/** Returns a pattern that matches the full name of a test, which both frameworks write with blanks between its parts. */
function pattern(parts) {
  return quote(`^${parts.join(' ').replace(/[.*+?^${}()|[\]\\]/g, '\\$&')}$`);
}

function vitest(file, parts) {
  return `LOOMREC_TESTS=record npx vitest run ${quote(file)} -t ${pattern(parts)}`;
}

function jest(file, parts) {
  return `LOOMREC_TESTS=record npx jest ${quote(file)} -t ${pattern(parts)}`;
}

module.exports = { jest, quote, vitest };
