// As a module: every part of the package, and what must be an error.

import { LoomrecError, findBinary, startServer, type SessionResult } from '@loomrec/cli';
import { loomrec, useLoomrec, type TestMode } from '@loomrec/cli/vitest';
import { useLoomrec as useInJest, withLoomrec } from '@loomrec/cli/jest';
import { defineConfig } from 'vitest/config';

export const config = defineConfig({ plugins: [loomrec({ auto: 'tests/agents/**', upstream: { openai: 'http://gateway' } })] });
export const jestConfig: { testEnvironment: string } = withLoomrec({ testEnvironment: 'node' }, { mode: 'replay' });

const handle = useLoomrec({ fault: ['429;times=1'], recovery: 'max_recovery_ms=5000', vars: { tenant: 'a' } });
export const mode: TestMode = handle.mode;
export const url: string | undefined = useInJest().url;
// @ts-expect-error: a fault is a text
useLoomrec({ fault: 429 });
// @ts-expect-error: an option that does not exist
loomrec({ recording: 'x' });

export async function main(): Promise<SessionResult> {
  const server = await startServer({ command: 'record', recording: 'recordings/{session}.json', binary: findBinary() });
  const variables: Record<string, string> = await server.environment('one');
  const session = await server.begin({ prefix: 'one', name: String(variables.OPENAI_BASE_URL), mode: 'new', normalize: '/id: uuid' });
  const cost: number | null = (await session.show()).cost;
  // @ts-expect-error: the cost may be unknown
  cost.toFixed(2);
  const result = await session.end({ keep: cost !== null });
  const { exitCode } = await server.stop();
  if (exitCode !== 0) throw new LoomrecError('failed', { status: 500 });
  return result;
}
