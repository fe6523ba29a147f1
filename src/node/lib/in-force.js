'use strict';

// What a replay goes by besides the recorded requests, as the receipt of a session says.

/** Members of `in_force` that list rules, and what they do. */
const RULES = {
  ignore: 'ignored',
  ignore_headers: 'ignored header',
  identity_headers: 'also compared header',
  normalize: 'renamed',
  credential_params: 'taken out as a credential',
  repeat: 'repeats',
  script: 'script',
  set_aside: 'set aside by --strict',
};
/** Members that count entries which answer in another way. */
const ENTRIES = {
  faults: 'entries with faults',
  unchecked: 'entries that cannot be checked',
  by_messages: 'entries that answer by the messages of a call alone',
};

/** Returns what is in force, one text each; none for a replay by its recording alone. */
function describeInForce(inForce) {
  const texts = [];
  for (const [member, what] of Object.entries(RULES)) {
    for (const item of inForce?.[member] ?? []) texts.push(`${what} ${words(item)}`);
  }
  for (const [member, what] of Object.entries(ENTRIES)) {
    const number = inForce?.[member]?.entries ?? 0;
    if (number > 0) texts.push(`${what}: ${number}`);
  }
  return texts;
}

function words(item) {
  if (typeof item !== 'object' || item === null) return String(item);
  const [first, ...others] = Object.values(item).map(String);
  return others.length > 0 ? `${first} (${others.join(', ')})` : first;
}

/**
 * Returns what control calls changed that were not this package's: the tests made them.
 * @param {string[]} asked the members of sessions that this package asked for, once for each time
 */
function foreignControl(inForce, asked) {
  const own = (name) => asked.filter((member) => `${member} of a session` === name).length;
  return (inForce?.control ?? []).filter(({ asked: name, times }) => times > own(name)).map(({ asked: name }) => name);
}

module.exports = { describeInForce, foreignControl };
