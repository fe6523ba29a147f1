import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import OpenAI from 'openai';
import { useLoomrec } from '@loomrec/cli/FRAMEWORK';
import { ask } from '../src/assistant.js';

const loomrec = useLoomrec();

test('a folder of its own is in the prompt', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'sample-'));
  await loomrec.var('folder', folder);
  expect(await ask(`List the files in ${folder} please`)).toContain(folder);
});

test('calls, usage and cost are known', async () => {
  await ask('How much is this?');
  if (loomrec.mode === 'off') return;
  expect(await loomrec.calls()).toHaveLength(1);
  expect((await loomrec.usage()).input).toBeGreaterThan(0);
  expect(await loomrec.cost()).toBeGreaterThan(0);
  expect(loomrec.recording).toBe('tests/recordings/session.test.js/calls-usage-and-cost-are-known.json');
});

test('a client can take the address', async () => {
  const address = loomrec.url === undefined ? {} : { baseURL: `${loomrec.url}/openai/v1` };
  const models = await new OpenAI(address).models.list();
  expect(models.data.length).toBeGreaterThan(0);
});
