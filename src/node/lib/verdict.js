'use strict';

// What loomrec's receipt of a session means for the test.

/** How many missed calls, and how many differences of each, are shown. */
const MOST_SHOWN = 10;

/** Returns whether a test missed calls because it has no recording. */
function missesRecording(result, exists) {
  return result.missed > 0 && !exists;
}

/**
 * Returns what is wrong with a session, as a text for people, or null.
 * @param {object} result the result of the session
 * @param {{recording: string, exists: boolean, failUnused?: boolean, command: string, direct?: string[]}} test
 *   `command` records the test anew; `direct` are the providers that the test has called directly
 */
function findProblem(result, { recording, exists, failUnused = false, command, direct = [] }) {
  const { receipt, summary } = result;
  if (direct.length > 0) {
    return (
      `calls to ${direct.join(', ')} went around loomrec, and are in no recording: ` +
      'have the program use the base URL of the environment'
    );
  }
  if (missesRecording(result, exists)) {
    const { method, path, upstream } = receipt.mismatches[0] ?? {};
    const call = path ? ` for ${method} ${path} to ${upstream}` : '';
    return `there is no recording${call}: ${recording} does not exist\nTo record it: ${command}`;
  }
  if (receipt.verdict !== 'ok') {
    const missed = receipt.mismatches.slice(0, MOST_SHOWN).map(describeMismatch);
    // Of missed calls, the summary says the same once more.
    const advice = missed.length > 0 ? [`If the change is meant, record the test again: ${command}`] : [summary.trim()];
    return [receipt.complaints.join('; ') || `the verdict is: ${receipt.verdict}`, ...missed, ...advice].join('\n');
  }
  if (failUnused && result.unused > 0) {
    return `the test did not use ${result.unused} of the takes in ${recording}: ${receipt.unused_entries.join(', ')}`;
  }
  return null;
}

/** Returns a missed call, and in what it differs from the nearest recorded one. */
function describeMismatch({ reason, method, path, upstream, nearest }) {
  const lines = [`RecordingMismatchError ${reason}: ${method} ${path} to ${upstream}`];
  if (!nearest) return lines[0];
  lines.push(`  nearest recorded call: ${nearest.request_hash?.slice(0, 12)} in ${nearest.recording}`);
  for (const { pointer, recorded, now } of (nearest.differences ?? []).slice(0, MOST_SHOWN)) {
    lines.push(`    ${pointer}`, `      recorded ${recorded ?? 'nothing'}`, `      now      ${now ?? 'nothing'}`);
  }
  return lines.join('\n');
}

module.exports = { findProblem };
