'use strict';

// What loomrec's receipt of a session means for the test.

/** Returns whether a test missed calls because it has no recording. */
function missingRecording(result, { exists = false, session } = {}) {
  return result.missed > 0 && !(exists || session?.exists);
}

/**
 * Returns what is wrong with a session, as a text for people, or null.
 * @param {object} result the result of the session
 * @param {{recording: string, exists: boolean, failUnused?: boolean}} test
 */
function findProblem(result, { recording, exists, failUnused = false }) {
  const { receipt, summary } = result;
  if (missingRecording(result, { exists })) {
    const { method, path, upstream } = receipt.mismatches?.[0] ?? {};
    const call = path ? ` for ${method} ${path} to ${upstream}` : '';
    return `there is no recording${call}: ${recording} does not exist`;
  }
  if (receipt.verdict !== 'ok') return [...firstLines(receipt), summary.trim()].join('\n');
  if (failUnused && result.unused > 0) {
    const entries = (receipt.unused_entries ?? []).join(', ');
    return `the test did not use ${result.unused} of the takes in ${recording}: ${entries}`;
  }
  return null;
}

/** Returns what is wrong in one line; the summary has the details. */
function firstLines({ complaints = [], verdict }) {
  return [complaints.length > 0 ? complaints.join('; ') : `loomrec's verdict is: ${verdict}`];
}

module.exports = { findProblem, missingRecording };
