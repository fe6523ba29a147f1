'use strict';

// Patterns of paths: `*` and `?` within a part of a path, `**` for any number of parts, `{a,b}` for either.

const SPECIAL = /[.+^$()|[\]\\]/;

/**
 * Returns whether a path matches a pattern. Both have `/` between parts.
 * @param {string} pattern
 * @param {string} path
 */
function matchesGlob(pattern, path) {
  return new RegExp(`^${toRegExp(pattern.replace(/^\.\//, ''))}$`).test(path);
}

function toRegExp(pattern) {
  let text = '';
  for (let i = 0; i < pattern.length; i += 1) {
    const rest = pattern.slice(i);
    if (rest.startsWith('**/')) {
      text += '(?:.*/)?';
      i += 2;
    } else if (rest.startsWith('**')) {
      text += '.*';
      i += 1;
    } else if (pattern[i] === '*') text += '[^/]*';
    else if (pattern[i] === '?') text += '[^/]';
    else if (pattern[i] === '{') text += '(?:';
    else if (pattern[i] === '}') text += ')';
    else if (pattern[i] === ',' && insideBraces(pattern, i)) text += '|';
    else text += SPECIAL.test(pattern[i]) ? `\\${pattern[i]}` : pattern[i];
  }
  return text;
}

function insideBraces(pattern, index) {
  return pattern.lastIndexOf('{', index) > pattern.lastIndexOf('}', index);
}

module.exports = { matchesGlob };
