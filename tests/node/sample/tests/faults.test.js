import { useLoomrec } from '@loomrec/cli/FRAMEWORK';
import { ask, askOrGuess } from '../src/assistant.js';

describe('with a rate limit', () => {
  const loomrec = useLoomrec({ fault: 'http_error:429;times=1;retry_after_ms=5' });

  test('the client tries again', async () => {
    expect(await ask('Are you busy?')).toContain('Are you busy?');
    const outcomes = (await loomrec.calls()).map((call) => call.outcome);
    expect(outcomes).toEqual(['faulted', loomrec.mode === 'record' ? 'recorded' : 'served']);
  });
});

describe('with a budget', () => {
  useLoomrec({ fault: 'http_error:503;times=1', recovery: 'max_recovery_ms=5000' });

  test('the client recovers', async () => {
    expect(await askOrGuess('Are you well?')).toContain('Are you well?');
  });
});

test('without a fault', async () => {
  expect(await askOrGuess('Are you there?')).toContain('Are you there?');
});
