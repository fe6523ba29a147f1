import { useLoomrec } from '@loomrec/cli/FRAMEWORK';
import { ask, askClaude, askClaudeStreamed, askStreamed, respond } from '../src/assistant.js';

useLoomrec();

describe('OpenAI', () => {
  test('answers', async () => {
    expect(await ask('Do I need an umbrella?')).toContain('Do I need an umbrella?');
  });

  test('streams', async () => {
    expect(await askStreamed('Tell me a story')).toContain('Tell me a story');
  });

  test('responds', async () => {
    expect(await respond('Say hello')).toContain('Say hello');
  });
});

describe('Anthropic', () => {
  test('answers', async () => {
    expect(await askClaude('Is it cold?')).toContain('Is it cold?');
  });

  test('streams', async () => {
    expect(await askClaudeStreamed('Is it windy?')).toContain('Is it windy?');
  });
});

test('asks twice, and gets the answers in their order', async () => {
  expect(await ask('count the calls of this test')).toContain('Call 1');
  expect(await ask('count the calls of this test')).toContain('Call 2');
});

test('makes no call', () => {
  expect(1 + 1).toBe(2);
});

test.each(['one', 'two'])('has a name that others have', async (which) => {
  expect(await ask(`Number ${which}`)).toContain(which);
});
