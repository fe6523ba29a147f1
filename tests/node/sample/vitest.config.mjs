import { loomrec } from '@loomrec/cli/vitest';
import { defineConfig } from 'vitest/config';
import options from './loomrec-options.cjs';

export default defineConfig({ plugins: [loomrec(options)], test: { globals: true } });
