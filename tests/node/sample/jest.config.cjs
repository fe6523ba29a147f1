const options = require('./loomrec-options.cjs');

module.exports = { preset: '@loomrec/cli', globals: { loomrec: options } };
