import plugin from './vitest.js';

export const { loomrec, useLoomrec } = plugin;
