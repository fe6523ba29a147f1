import { useLoomrec } from '@loomrec/cli/FRAMEWORK';
import { ask, askClaude } from '../src/assistant.js';

useLoomrec();

describe.each(['Paris', 'Oslo', 'São Paulo'])('in %s', (city) => {
  beforeEach(async () => {
    expect(await ask(`Where is ${city}?`)).toContain(city);
  });

  test('one wears a coat / hat?', async () => {
    expect(await askClaude(`Do I need a coat in ${city}?`)).toContain(city);
  });
});
