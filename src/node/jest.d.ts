import type { LoomrecOptions } from './testing.js';

export * from './testing.js';

/** Returns a configuration of jest with loomrec in it. */
export function withLoomrec<T extends object>(config: T, options?: LoomrecOptions): T;
