// This file does not mention the plug-in: the configuration names its folder.
import { ask } from '../../src/assistant.js';

test('is recorded', async () => {
  expect(await ask('Is this automatic?')).toContain('automatic');
});
