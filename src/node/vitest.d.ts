import type { LoomrecOptions } from './testing.js';

export * from './testing.js';

/** Returns the plug-in for `plugins` in vitest.config. */
export function loomrec(options?: LoomrecOptions): { name: string };
