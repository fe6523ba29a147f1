// Keeping recordings up to date: changed prompts, renamed and moved tests, tests that are to fail, retries.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { FRAMEWORKS, Project, Upstream, home, run } from './harness.mjs';

const RECORD = { LOOMREC_TESTS: 'record' };
const FAILING = { vitest: 'test.fails', jest: 'test.failing' };
const RETRY = { vitest: "test('flaky', { retry: 2 }, ", jest: "jest.retryTimes(2);\ntest('flaky', " };

for (const name of ['vitest 4', 'jest 30']) {
  describe(name, { concurrency: false }, () => {
    const { plugin } = FRAMEWORKS[name];
    let upstream;
    let recorded;
    const projects = [];
    const copy = () => {
      projects.push(recorded.copy());
      return projects.at(-1);
    };

    before(async () => {
      upstream = await Upstream.start();
      recorded = new Project(FRAMEWORKS[name]);
      projects.push(recorded);
      for (const file of recorded.files('tests')) fs.rmSync(path.join(recorded.path, file));
      recorded.write('tests/places.test.js', places(plugin));
      const first = await recorded.run({ upstream, env: RECORD });
      assert.equal(first.code, 0, first.output);
    });
    after(async () => {
      await upstream.stop();
      for (const project of projects) project.remove();
    });

    test('reviews three changed prompts with three commands', () => reviewsChanges(copy(), upstream));
    test('gives renamed tests their recordings back', () => findsRenamedTests(copy()));
    test('gives the tests of a moved file their recordings back', () => findsMovedTests(copy()));
    test('says of nothing that it was renamed without a proof', () => provesRenames(copy()));
    test('records a test that is to fail, and lets it hide no change', () => recordsFailingTests(copy(), plugin, upstream));
    if (plugin === 'vitest') test('lets no test skip itself past a missed call', () => failsSkippedTests(copy(), upstream));
    test('records a test that passes after a retry', () => recordsRetriedTests(copy(), plugin, upstream));
  });
}

function places(plugin) {
  const one = (title, prompt) => `test('${title}', async () => void expect(await ask('${prompt}')).toContain('${prompt}'));\n`;
  return `import { useLoomrec } from '@loomrec/cli/${plugin}';
import { ask } from '../src/assistant.js';
useLoomrec();
${one('finds Paris', 'Where is Paris?')}${one('finds the sea', 'Where is the sea?')}${one('finds Rome', 'Where is Rome?')}`;
}

/** Returns the commands that the end of a run printed below a line. */
function printed(output, line) {
  const lines = output.split('\n');
  const start = lines.findIndex((text) => text.startsWith('loomrec: ') && text.includes(line));
  assert.notEqual(start, -1, output);
  const commands = [];
  for (let at = start + 1; lines[at]?.startsWith('  '); at += 1) commands.push(lines[at].trim());
  return commands;
}

/** Runs a command that was printed. */
async function shell(project, command, upstream) {
  const bin = path.join(home, project.framework.folder, 'node_modules/@loomrec/cli/bin');
  const env = project.environment({ upstream });
  const outcome = await run('sh', ['-c', command.replaceAll('npx loomrec', `node ${bin}/loomrec.js`)], { cwd: project.path, env });
  assert.equal(outcome.code, 0, outcome.output);
  return outcome.output;
}

async function reviewsChanges(project, upstream) {
  project.edit('tests/places.test.js', 'Where is', 'Where was');
  const [before, seen] = [project.recordings(), upstream.requests()];
  // Only the settings of the run know the upstream.
  const missed = await project.run({ upstream, env: { LOOMREC_TESTS: 'review' } });
  assert.notEqual(missed.code, 0, missed.output);
  assert.equal(upstream.requests(), seen);
  const [fetch, review] = printed(missed.output, '3 calls wait for new answers. If the changes are meant:');
  assert.equal(review, 'npx loomrec review tests/recordings/places.test.js/');
  await shell(project, `${fetch} --yes`, upstream);
  assert.equal(upstream.requests(), seen + 3);
  const shown = await shell(project, review, upstream);
  for (const place of ['Paris', 'the sea', 'Rome']) assert.match(shown, new RegExp(`Where was ${place}`));
  await shell(project, 'npx loomrec review tests/recordings/places.test.js --accept', upstream);
  const strict = await project.run({ env: { CI: 'true' } });
  assert.equal(strict.code, 0, strict.output);
  assert.deepEqual([...project.recordings().keys()], [...before.keys()]);
}

async function findsRenamedTests(project) {
  project.edit('tests/places.test.js', 'finds Paris', "locates Paris (it\\'s easy)");
  project.edit('tests/places.test.js', 'finds Rome', 'locates Rome');
  const before = project.recordings();
  const renamed = await project.run();
  assert.notEqual(renamed.code, 0, renamed.output);
  assert.doesNotMatch(renamed.output, /recordings without a test: /);
  assert.deepEqual(project.recordings(), before, 'nothing is moved without a command');
  const [command] = printed(renamed.output, 'the calls of 2 renamed tests are in recordings without a test. To move them:');
  await shell(project, command);
  const again = await project.run();
  assert.equal(again.code, 0, again.output);
  assert.deepEqual([...project.recordings().values()].sort(), [...before.values()].sort());
}

async function findsMovedTests(project) {
  project.write('tests/of places/here.test.js', project.read('tests/places.test.js').replace('../src', '../../src'));
  fs.rmSync(path.join(project.path, 'tests/places.test.js'));
  const moved = await project.run();
  const [command] = printed(moved.output, 'the calls of 3 renamed tests');
  assert.ok(command.startsWith("mkdir -p 'tests/of places/recordings/here.test.js' && mv "), command);
  await shell(project, command);
  const again = await project.run();
  assert.equal(again.code, 0, again.output);
  assert.doesNotMatch(again.output, /without a test/);
}

async function provesRenames(project) {
  project.edit('tests/places.test.js', 'finds Paris', 'locates Paris');
  project.edit('tests/places.test.js', 'Where is Paris', 'Where was Paris');
  const other = await project.run();
  assert.doesNotMatch(other.output, /renamed/);
  assert.match(other.output, /recordings without a test: tests\/recordings\/places\.test\.js\/finds-Paris\.json/);
}

async function recordsFailingTests(project, plugin, upstream) {
  project.write('tests/failing.test.js', `import { useLoomrec } from '@loomrec/cli/${plugin}';
import { ask, askOrGuess } from '../src/assistant.js';
useLoomrec();
${FAILING[plugin]}('fails', async () => { expect(await ask('A town?')).toContain('village'); });
${FAILING[plugin]}('fails and hides errors', async () => { expect(await askOrGuess('A city?')).toContain('village'); });
`);
  const words = ['tests/failing.test.js'];
  const recorded = await project.run({ upstream, env: RECORD, words });
  assert.equal(recorded.code, 0, recorded.output);
  assert.match(recorded.output, /^loomrec: 2 tests recorded, \$/m);
  const replayed = await project.run({ words });
  assert.equal(replayed.code, 0, replayed.output);
  assert.match(replayed.output, /^loomrec: 2 tests replayed, \$/m);
  project.edit('tests/failing.test.js', "'A ", "'No ");
  const changed = await project.run({ words });
  assert.notEqual(changed.code, 0, changed.output);
  assert.deepEqual([...changed.tests.values()].map(({ status }) => status), ['failed', 'failed'], changed.output);
  assert.match(changed.output, /RecordingMismatchError drifted: POST \/v1\/chat\/completions/);
}

async function failsSkippedTests(project, upstream) {
  project.write('tests/skips.test.js', `import { useLoomrec } from '@loomrec/cli/vitest';
import { ask } from '../src/assistant.js';
useLoomrec();
const askOrSkip = (context, prompt) => ask(prompt).catch(() => context.skip());
test('skips itself', async (context) => void (await askOrSkip(context, 'Is it there?')));
test.fails('is to fail', async (context) => { await askOrSkip(context, 'Is it here?'); throw new Error('known'); });
describe('before', () => {
  beforeEach(async (context) => void (await askOrSkip(context, 'Is it near?')));
  test('is skipped', () => {});
});
`);
  const words = ['tests/skips.test.js'];
  const recorded = await project.run({ upstream, env: RECORD, words });
  assert.equal(recorded.code, 0, recorded.output);
  project.edit('tests/skips.test.js', "'Is it", "'Was it");
  const changed = await project.run({ words });
  assert.notEqual(changed.code, 0, changed.output);
  assert.deepEqual([...changed.tests.values()].map(({ status }) => status), ['failed', 'failed', 'failed'], changed.output);
  project.write('tests/later.test.js', `import { useLoomrec } from '@loomrec/cli/vitest';
import { askOrGuess } from '../src/assistant.js';
useLoomrec();
let times = 0;
test('skips itself later', { repeats: 1 }, async (context) => {
  if (times > 0) context.skip();
  times += 1;
  await askOrGuess('Never recorded?');
});
`);
  const later = await project.run({ words: ['tests/later.test.js'] });
  assert.notEqual(later.code, 0, later.output);
  assert.match(later.output, /tests failed, and were skipped then: skips itself later/);
  project.edit('tests/skips.test.js', "ask(prompt).catch(() => context.skip())", 'context.skip()');
  assert.equal((await project.run({ words })).code, 0, 'a test that skips itself without a call is skipped');
}

async function recordsRetriedTests(project, plugin, upstream) {
  project.write('tests/flaky.test.js', `import { useLoomrec } from '@loomrec/cli/${plugin}';
import { ask } from '../src/assistant.js';
useLoomrec();
let attempts = 0;
${RETRY[plugin]}async () => {
  await ask('Again?');
  attempts += 1;
  expect(attempts).toBe(2);
});
`);
  const words = ['tests/flaky.test.js'];
  for (const [env, summary] of [[RECORD, '1 test recorded'], [{}, '1 test replayed']]) {
    const outcome = await project.run({ upstream, env, words });
    assert.equal(outcome.code, 0, outcome.output);
    assert.match(outcome.output, new RegExp(`^loomrec: ${summary}, \\$`, 'm'));
    assert.doesNotMatch(outcome.output, /not kept/);
  }
}
