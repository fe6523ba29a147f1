'use strict';

// The file in which the recording of a test is kept: FOLDER/recordings/TEST_FILE/NAME.json, where NAME is
// the test's full name with `-` for characters that file systems or shells dislike.

const { createHash } = require('node:crypto');

/** The longest name of a file, in bytes, without `.json`: most file systems allow 255. */
const LONGEST = 150;
const RESERVED = /^(con|prn|aux|nul|com\d|lpt\d)$/i;

/** Returns the full name of a test: the names of the blocks around it and its own. */
function fullName(parts) {
  return parts.join(' > ');
}

/** Returns a name that can be that of a file, which two tests may share. */
function readableName(name) {
  const plain = name.normalize('NFC').replace(/ > /g, '.').replace(/[^\p{L}\p{N}._+=@-]+/gu, '-');
  const trimmed = plain.replace(/^[-.]+|[-.]+$/g, '');
  if (trimmed === '' || RESERVED.test(trimmed)) return withHash(trimmed, name);
  if (Buffer.byteLength(trimmed) > LONGEST) return withHash(cut(trimmed, LONGEST - 9), name);
  return trimmed;
}

function withHash(readable, name) {
  const hash = createHash('sha256').update(name).digest('hex').slice(0, 8);
  return `${readable}~${hash}`;
}

/** Returns the beginning of a text, at most this many bytes of whole characters. */
function cut(text, bytes) {
  let kept = '';
  for (const character of text) {
    if (Buffer.byteLength(kept + character) > bytes) break;
    kept += character;
  }
  return kept;
}

/**
 * Returns the names of the recordings for the tests of one file, in the order of the tests.
 *
 * A test whose readable name another test has, too, gets a part of its hash. Tests with the very same full
 * name are counted: `NAME`, `NAME~2`.
 * @param {string[]} names full names of tests
 */
function recordingNames(names) {
  const owners = new Map();
  for (const name of new Set(names)) {
    const key = readableName(name).toLowerCase();
    owners.set(key, (owners.get(key) ?? 0) + 1);
  }
  const seen = new Map();
  return names.map((name) => {
    const readable = readableName(name);
    const base = owners.get(readable.toLowerCase()) > 1 ? withHash(readable, name) : readable;
    const count = (seen.get(name) ?? 0) + 1;
    seen.set(name, count);
    return count === 1 ? base : `${base}~${count}`;
  });
}

module.exports = { fullName, recordingNames };
