import plugin from './jest.js';

export const { useLoomrec, withLoomrec } = plugin;
