// What must hold for each framework: the same sample project is recorded, replayed, and spoiled.

import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { FRAMEWORKS, Project, run, Upstream } from './harness.mjs';

const RECORDINGS = [
  'tests/auto/recordings/auto.test.js/is-recorded.json',
  'tests/recordings/answers.test.js/Anthropic.answers.json',
  'tests/recordings/answers.test.js/Anthropic.streams.json',
  'tests/recordings/answers.test.js/OpenAI.answers.json',
  'tests/recordings/answers.test.js/OpenAI.responds.json',
  'tests/recordings/answers.test.js/OpenAI.streams.json',
  'tests/recordings/answers.test.js/asks-twice-and-gets-the-answers-in-their-order.json',
  'tests/recordings/answers.test.js/has-a-name-that-others-have.json',
  'tests/recordings/answers.test.js/has-a-name-that-others-have~2.json',
  'tests/recordings/cities.test.js/in-Oslo.one-wears-a-coat-hat.json',
  'tests/recordings/cities.test.js/in-Paris.one-wears-a-coat-hat.json',
  'tests/recordings/cities.test.js/in-São-Paulo.one-wears-a-coat-hat.json',
  'tests/recordings/faults.test.js/with-a-budget.the-client-recovers.json',
  'tests/recordings/faults.test.js/with-a-rate-limit.the-client-tries-again.json',
  'tests/recordings/faults.test.js/without-a-fault.json',
  'tests/recordings/session.test.js/a-client-can-take-the-address.json',
  'tests/recordings/session.test.js/a-folder-of-its-own-is-in-the-prompt.json',
  'tests/recordings/session.test.js/calls-usage-and-cost-are-known.json',
];
const RECORD = { LOOMREC_TESTS: 'record' };

/** Declares the tests of a framework; `all: false` leaves out what does not depend on its version. */
export function testFramework(name, { all = true } = {}) {
  describe(name, { concurrency: false }, () => {
    let recorded;
    let upstream;
    const projects = [];
    const copy = () => {
      projects.push(recorded.copy());
      return projects.at(-1);
    };

    before(async () => {
      upstream = await Upstream.start();
      recorded = new Project(FRAMEWORKS[name]);
      projects.push(recorded);
    });
    after(async () => {
      await upstream.stop();
      for (const project of projects) project.remove();
    });

    test('records each test into a file of its own', async () => {
      const outcome = await recorded.run({ upstream, env: RECORD });
      assertAllPassed(outcome, 20);
      assert.match(outcome.output, /^loomrec: 18 tests recorded, at least \$0\.\d+ spent$/m);
      assert.deepEqual([...recorded.recordings().keys()], [...RECORDINGS].sort());
      assert.ok(upstream.requests() >= 18);
    });

    test('replays without a key and without the upstream', async () => {
      const [seen, files] = [upstream.requests(), recorded.recordings()];
      const outcome = await recorded.run({ env: { CI: 'true' } });
      assertAllPassed(outcome, 20);
      assert.match(outcome.output, /^loomrec: 18 tests replayed, at least \$0\.\d+ saved$/m);
      assert.deepEqual(recorded.recordings(), files);
      assert.equal(upstream.requests(), seen);
    });

    test('keeps calls that come after the end of their test out of the next recording', () => refusesLateCalls(copy(), FRAMEWORKS[name].plugin, upstream));
    test('says of each defect what it is', () => findsDefects(copy(), FRAMEWORKS[name].plugin));
    if (!all) return;
    test('keeps a recording only if its test passed', () => keepsGoodRecordings(copy(), upstream));
    test('records nothing in CI', () => refusesToRecordInCi(copy(), upstream));
    test('is out of the way if it is off', () => staysOff(copy(), upstream));
    test('records what is new', () => recordsWhatIsNew(copy(), upstream));
    test('the command of a missing recording records it', () => recordsByCommand(copy(), upstream));
    test('works whatever the order and the workers', () => worksInAnyOrder(copy(), FRAMEWORKS[name].plugin));
    test('does nothing for tests that do not use it', () => staysInert(copy()));
    test('fails a test that calls a provider directly', () => failsDirectCalls(copy(), FRAMEWORKS[name].plugin, upstream));
    test('lets no setting of the project weaken a replay', () => staysStrict(copy(), upstream));
    test('fails a run in which a call belongs to no test', () => failsCallsOutsideOfTests(copy()));
  });
}

function assertAllPassed({ code, output, tests }, count) {
  assert.equal(code, 0, output);
  // Tests with the same name are one in the results: there is one such pair.
  assert.equal(tests.size, count - 1, output);
  for (const [name, { status }] of tests) assert.equal(status, 'passed', name);
}

/** Asserts which tests failed, and what was said of each. */
function assertFailures({ code, output, tests }, expected) {
  assert.notEqual(code, 0, output);
  const failed = [...tests].filter(([, { status }]) => status === 'failed');
  assert.deepEqual(failed.map(([name]) => name).sort(), Object.keys(expected).sort(), output);
  for (const [name, { message }] of failed) {
    for (const pattern of [expected[name]].flat()) assert.match(message, pattern, name);
  }
}

async function findsDefects(project, plugin) {
  const files = project.recordings();
  project.edit('tests/answers.test.js', 'Is it cold?', 'Is it hot?');
  project.edit('tests/answers.test.js', /\n  expect\(await ask\('count[^\n]+Call 2'\);/, '');
  project.edit('tests/faults.test.js', "askOrGuess('Are you there?')).toContain('Are you there?')", "askOrGuess('Are you here?')).toContain('I do not know.')");
  project.edit('tests/faults.test.js', 'http_error:503;times=1', 'no-such-step=http_error:503;times=1');
  project.edit('tests/session.test.js', "test('a client can take the address'", "test('a client has another name'");
  project.edit('tests/session.test.js', "test('calls,", "test.skip('calls,");
  project.edit('tests/cities.test.js', "'Oslo', ", '');
  project.write('tests/concurrent.test.js', `import { useLoomrec } from '@loomrec/cli/${plugin}';
useLoomrec();
test.concurrent('runs at the same time', async () => {});
`);
  project.write('tests/unused.test.js', `import { useLoomrec } from '@loomrec/cli/${plugin}';
import { ask } from '../src/assistant.js';
useLoomrec({ failUnused: true });
test('asks once', async () => void (await ask('count the calls of this test')));
`);
  const twice = 'tests/recordings/answers.test.js/asks-twice-and-gets-the-answers-in-their-order.json';
  project.write('tests/recordings/unused.test.js/asks-once.json', project.read(twice));
  const outcome = await project.run();
  assertFailures(outcome, {
    'Anthropic answers': [/RecordingMismatchError drifted: POST \/v1\/messages to anthropic/, /recorded "Is it cold\?"\n      now      "Is it hot\?"/],
    'without a fault': [/Are you there/, /Are you here/],
    'with a budget the client recovers': /faults that were not tested.*no-such-step/,
    'a client has another name': [
      /there is no recording.*a-client-has-another-name\.json/,
      new RegExp(`LOOMREC_TESTS=record npx ${plugin}.* tests/session\\.test\\.js -t '\\^a client has another name\\$'`),
    ],
    'runs at the same time': /use test instead of test\.concurrent/,
    'asks once': /did not use 1 of the takes in tests\/recordings\/unused\.test\.js\/asks-once\.json/,
  });
  assert.match(outcome.output, /^loomrec: takes that no call used: 1 in tests\/recordings\/answers\.test\.js\/asks-twice/m);
  const orphans = outcome.output.match(/^loomrec: recordings without a test: (.*)$/m)?.[1].split(', ');
  assert.deepEqual(orphans, [
    'tests/recordings/cities.test.js/in-Oslo.one-wears-a-coat-hat.json',
  ]);
  const folder = 'tests/recordings/session.test.js';
  const move = `  mv ${folder}/a-client-can-take-the-address.json ${folder}/a-client-has-another-name.json\n`;
  assert.ok(outcome.output.includes(move), outcome.output);
  for (const [file, hash] of files) assert.equal(project.recordings().get(file), hash, file);
}

async function keepsGoodRecordings(project, upstream) {
  const before = project.recordings();
  project.edit('tests/answers.test.js', "toContain('Tell me a story')", "toContain('Nothing')");
  project.edit('tests/answers.test.js', "askClaudeStreamed('Is it windy?')).toContain('Is it windy?')", "askClaudeStreamed('Is it rainy?')).toContain('Is it rainy?')");
  const broken = 'tests/recordings/answers.test.js/OpenAI.streams.json';
  const changed = 'tests/recordings/answers.test.js/Anthropic.streams.json';
  const words = ['tests/answers.test.js', '-t', 'streams'];
  const outcome = await project.run({ upstream, env: RECORD, words });
  assertFailures(outcome, { 'OpenAI streams': /Nothing/ });
  const after = project.recordings();
  assert.equal(after.get(broken), before.get(broken), 'the old recording of the failed test was changed');
  assert.notEqual(after.get(changed), before.get(changed), 'the recording of the good test was not replaced');
  assert.match(project.read(changed), /Is it rainy/);
  assert.ok(outcome.output.includes(`loomrec: not kept, because the test failed: ${broken}`), outcome.output);
  assert.deepEqual([...after.keys()], [...before.keys()], 'something was left beside the recordings');
}

async function refusesToRecordInCi(project, upstream) {
  const [before, seen] = [project.recordings(), upstream.requests()];
  const outcome = await project.run({ upstream, env: { ...RECORD, CI: '1' } });
  assert.notEqual(outcome.code, 0, outcome.output);
  assert.match(outcome.output, /LOOMREC_TESTS=record is refused because CI is set/);
  assert.deepEqual(project.recordings(), before);
  assert.equal(upstream.requests(), seen);
}

async function staysOff(project, upstream) {
  const [before, seen] = [project.recordings(), upstream.requests()];
  const address = `${upstream.url}/v1`;
  const env = { LOOMREC_TESTS: 'off', OPENAI_BASE_URL: address, SAMPLE_BASE_URL: address, ANTHROPIC_BASE_URL: upstream.url };
  // The upstream counts how often each call came since it was started.
  project.edit('tests/answers.test.js', /toContain\('Call \d'\)/, "toContain('Call ')");
  const words = ['tests/answers.test.js', 'tests/plain.test.js', 'tests/session.test.js'];
  const outcome = await project.run({ upstream, env: { ...env, LOOMREC_BIN: '/no/such/binary' }, words });
  assertAllPassed(outcome, 13);
  assert.doesNotMatch(outcome.output, /^loomrec/m);
  assert.deepEqual(project.recordings(), before);
  assert.ok(upstream.requests() >= seen + 12);
}

async function recordsWhatIsNew(project, upstream) {
  project.edit('tests/answers.test.js', 'Say hello', 'Say goodbye');
  const [before, seen] = [project.recordings(), upstream.requests()];
  const words = ['tests/answers.test.js'];
  const outcome = await project.run({ upstream, env: { LOOMREC_TESTS: 'new' }, words });
  assertAllPassed(outcome, 9);
  assert.equal(upstream.requests(), seen + 1, outcome.output);
  const changed = [...project.recordings()].filter(([file, hash]) => before.get(file) !== hash).map(([file]) => file);
  assert.deepEqual(changed, ['tests/recordings/answers.test.js/OpenAI.responds.json']);
  assertAllPassed(await project.run({ words }), 9);
}

async function recordsByCommand(project, upstream) {
  project.edit('tests/cities.test.js', 'one wears', "it\\'s $1 [or (one wears)]");
  const words = ['tests/cities.test.js', '-t', 'in Oslo'];
  const missing = await project.run({ words });
  const [command] = [...missing.tests.values()].map(({ message }) => message.match(/^To record it: (.*)$/m)?.[1]).filter(Boolean);
  assert.ok(command, missing.output);
  const recorded = await run('sh', ['-c', command], { cwd: project.path, env: project.environment({ upstream }) });
  assert.equal(recorded.code, 0, recorded.output);
  assert.match(recorded.output, /^loomrec: 1 test recorded, /m);
  assert.equal((await project.run({ words })).code, 0);
}

async function worksInAnyOrder(project, plugin) {
  const words = {
    vitest: ['--pool=threads', '--no-isolate', '--maxWorkers=1', '--sequence.shuffle', '--sequence.seed=7'],
    jest: ['--runInBand', '--randomize', '--seed=7'],
  };
  if (plugin === 'jest') {
    // A configuration that has a global setup of its own, as docs/node.md says.
    for (const name of ['setup', 'teardown']) {
      const text = `module.exports = async (...words) => { console.error('own ${name}'); await require('@loomrec/cli/jest/global-${name}')(...words); };`;
      project.write(`own-${name}.cjs`, text);
    }
    project.edit('jest.config.cjs', "preset: '@loomrec/cli',", "preset: '@loomrec/cli', globalSetup: './own-setup.cjs', globalTeardown: './own-teardown.cjs',");
  }
  const outcome = await project.run({ words: words[plugin] });
  assertAllPassed(outcome, 20);
  assert.match(outcome.output, /^loomrec: 18 tests replayed/m);
  if (plugin === 'jest') assert.match(outcome.output, /own setup[^]*own teardown/);
}

async function staysInert(project) {
  const outcome = await project.run({ words: ['tests/plain.test.js'], env: { OPENAI_BASE_URL: 'http://own', SAMPLE_BASE_URL: 'http://own' } });
  assert.equal(outcome.code, 0, outcome.output);
  assert.equal(outcome.tests.get('the variables are as they were').status, 'passed');
  assert.doesNotMatch(outcome.output, /^loomrec/m);
}

async function failsCallsOutsideOfTests(project) {
  project.edit('tests/cities.test.js', 'useLoomrec();', "useLoomrec();\nbeforeAll(async () => {\n  await ask('Too early?').catch(() => {});\n});");
  const outcome = await project.run({ words: ['tests/cities.test.js'] });
  assert.notEqual(outcome.code, 0, outcome.output);
  assert.match(outcome.output, /no session is open for the prefix "worker-/);
}

async function refusesLateCalls(project, plugin, upstream) {
  project.write('tests/late.test.js', `import http from 'node:http';
import { useLoomrec } from '@loomrec/cli/${plugin}';
import { ask, askClaudeStreamed } from '../src/assistant.js';
const loomrec = useLoomrec();
let release;
const released = new Promise((resolve) => { release = resolve; });
const late = [];
const later = (call) => late.push(released.then(() => new Promise((resolve) => setTimeout(resolve, 1))).then(call));
const askByHttp = (prompt) => new Promise((resolve, reject) => {
  const headers = { 'content-type': 'application/json' };
  const request = http.request(loomrec.url + '/openai/v1/chat/completions', { method: 'POST', headers }, (answer) => {
    answer.resume().on('end', () => (answer.statusCode === 200 ? resolve() : reject(new Error(answer.statusCode))));
  });
  request.on('error', reject).end(JSON.stringify({ model: 'gpt-4o-mini', messages: [{ role: 'user', content: prompt }] }));
});
describe('first', () => {
  beforeEach(() => { later(() => ask('late by a hook')); });
  test('leaves calls behind', async () => {
    later(() => ask('late by fetch'));
    later(() => askByHttp('late by http'));
    later(() => askClaudeStreamed('late in a stream'));
    await ask('in time');
  });
});
test('is the next', async () => {
  await ask('before');
  release();
  const ends = await Promise.allSettled(late);
  expect(ends.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected', 'rejected']);
  await Promise.all([ask('after'), askByHttp('after, by http')]);
});
`);
  const seen = upstream.requests();
  for (const env of [RECORD, {}]) {
    const outcome = await project.run({ upstream: env === RECORD ? upstream : undefined, env, words: ['tests/late.test.js'] });
    assert.notEqual(outcome.code, 0, outcome.output);
    const [line] = outcome.output.match(/^loomrec: calls after the end of their test were refused.*$/m) ?? [];
    assert.equal(line?.split('): ')[1], 'tests/late.test.js: first > leaves calls behind', outcome.output);
    assert.equal(upstream.requests(), seen + 4, outcome.output);
    const folder = 'tests/recordings/late.test.js';
    const asked = (file) => [...new Set(project.read(`${folder}/${file}.json`).match(/"content": "(late|in time|before|after)[^"]*"/g))].sort();
    assert.deepEqual(asked('first.leaves-calls-behind'), ['"content": "in time"']);
    assert.deepEqual(asked('is-the-next'), ['"content": "after"', '"content": "after, by http"', '"content": "before"']);
  }
}

async function failsDirectCalls(project, plugin, upstream) {
  project.write('tests/direct.test.js', `import https from 'node:https';
import { useLoomrec } from '@loomrec/cli/${plugin}';
import { ask } from '../src/assistant.js';
useLoomrec();
test('calls by fetch', async () => {
  await ask('by fetch');
  await fetch('https://api.openai.com/v1/models').catch(() => {});
});
test('calls by https', async () => {
  await ask('by https');
  await new Promise((resolve) => https.get('https://api.anthropic.com/v1/models', (answer) => answer.resume().on('end', resolve)).on('error', resolve));
});
test('calls nothing', () => {});
`);
  // Only the recordings of the good calls are there: those of a run in which the others were not made.
  const good = project.read('tests/direct.test.js').replace(/  await (fetch|new Promise)[^\n]+\n/g, '');
  const bad = project.read('tests/direct.test.js');
  project.write('tests/direct.test.js', good);
  const recorded = await project.run({ upstream, env: RECORD, words: ['tests/direct.test.js'] });
  assert.equal(recorded.code, 0, recorded.output);
  project.write('tests/direct.test.js', bad);
  const outcome = await project.run({ words: ['tests/direct.test.js'] });
  // jest writes no results if its teardown fails, as it does here.
  assert.notEqual(outcome.code, 0, outcome.output);
  assert.match(outcome.output, /calls to api\.openai\.com went around loomrec, and are in no recording/);
  assert.match(outcome.output, /calls to api\.anthropic\.com went around loomrec, and are in no recording/);
  assert.match(outcome.output, /tests without a call: .*calls nothing/);
  assert.match(outcome.output, /connections went around loomrec.*api\.openai\.com/s);
}

async function staysStrict(project, upstream) {
  const seen = upstream.requests();
  project.write('loomrec.toml', `[replay]
ignore = ["/messages"]
on-miss = "forward"

[upstreams]
openai = "${upstream.url}"
`);
  project.edit('tests/cities.test.js', 'Where is', 'Where was');
  const outcome = await project.run({ words: ['tests/cities.test.js'] });
  assert.notEqual(outcome.code, 0, outcome.output);
  assert.equal(upstream.requests(), seen);
}
