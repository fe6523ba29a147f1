// Several projects in one run, and several runs of one project.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import { after, before, test } from 'node:test';
import { FRAMEWORKS, Project, root, run, Upstream } from './harness.mjs';

const packaged = createRequire(path.join(root, 'src/node/package.json'));
const { startServer } = packaged('./index.js');
const { openTestFile } = packaged('./lib/test-file.js');
const RECORD = { LOOMREC_TESTS: 'record' };
const projects = [];
let upstream;

before(async () => {
  upstream = await Upstream.start();
});
after(async () => {
  await upstream.stop();
  for (const project of projects) project.remove();
});

/** Returns a workspace with the projects `a` and `b`. */
function workspace(name) {
  const project = new Project(FRAMEWORKS[name]);
  projects.push(project);
  for (const file of project.files('tests')) fs.rmSync(path.join(project.path, file));
  for (const one of ['a', 'b']) {
    project.write(`packages/${one}/babel.config.cjs`, project.read('babel.config.cjs'));
    project.write(`packages/${one}/tests/${one}.test.js`, `import { useLoomrec } from '@loomrec/cli/${project.framework.plugin}';
import { ask } from '../../../src/assistant.js';
useLoomrec();
test('asks in ${one}', async () => { await ask('I am CUST-4711'); });
`);
  }
  return project;
}

const asked = (project, one) => project.read(`packages/${one}/tests/recordings/${one}.test.js/asks-in-${one}.json`);

test('projects of jest with options that one server cannot have are refused', async () => {
  const project = workspace('jest 30');
  project.write('jest.config.cjs', "module.exports = { projects: ['<rootDir>/packages/a', '<rootDir>/packages/b'] };");
  const configure = (one, more) =>
    project.write(`packages/${one}/jest.config.cjs`, `const options = { upstream: { openai: process.env.SAMPLE_UPSTREAM }, ${more} };
module.exports = { displayName: '${one}', preset: '@loomrec/cli', globals: { loomrec: options } };`);
  configure('a', '');
  for (const more of ["args: ['--redact', 'CUST-[0-9]+']", "mode: 'new'", "upstream: { openai: 'http://127.0.0.1:9' }"]) {
    configure('b', more);
    const env = more.startsWith('mode') ? { LOOMREC_TESTS: '' } : RECORD;
    const refused = await project.run({ upstream, env });
    assert.notEqual(refused.code, 0, refused.output);
    assert.match(refused.output, /mode, upstream and args must be the same in all projects/);
  }
  configure('b', "args: ['--redact', 'CUST-[0-9]+']");
  const alone = await project.run({ upstream, env: RECORD, words: ['--selectProjects', 'b'] });
  assert.equal(alone.code, 0, alone.output);
  assert.doesNotMatch(asked(project, 'b'), /CUST-4711/);
  configure('b', "ignore: '/user'");
  const same = await project.run({ upstream, env: RECORD });
  assert.equal(same.code, 0, same.output);
});

test('projects of vitest have a server each, and a command for the folder of the run', async () => {
  const project = workspace('vitest 4');
  project.write('vitest.config.mjs', "export default { test: { projects: ['packages/*'] } };");
  for (const one of ['a', 'b']) {
    project.write(`packages/${one}/vitest.config.mjs`, `import { loomrec } from '@loomrec/cli/vitest';
const args = ${one === 'b' ? "['--redact', 'CUST-[0-9]+']" : '[]'};
export default { plugins: [loomrec({ upstream: { openai: process.env.SAMPLE_UPSTREAM ?? 'http://127.0.0.1:9' }, args })], test: { globals: true } };`);
  }
  const recorded = await project.run({ upstream, env: RECORD });
  assert.equal(recorded.code, 0, recorded.output);
  assert.match(asked(project, 'a'), /CUST-4711/);
  assert.doesNotMatch(asked(project, 'b'), /CUST-4711/);
  project.edit('packages/b/tests/b.test.js', 'I am', 'I was');
  const changed = await project.run();
  assert.notEqual(changed.code, 0, changed.output);
  const [, command] = changed.output.match(/record the test again: (.*)$/m) ?? assert.fail(changed.output);
  assert.match(command, / packages\/b\/tests\/b\.test\.js /);
  const again = await run('sh', ['-c', command], { cwd: project.path, env: project.environment({ upstream }) });
  assert.equal(again.code, 0, again.output);
  assert.match(again.output, /^loomrec: 1 test recorded, /m);
});

test('a recording that another run writes is named', async () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'loomrec-projects-'));
  const start = () => startServer({ command: 'record', recording: '{session}.json', cwd: folder });
  const [server, other] = [await start(), await start()];
  try {
    fs.writeFileSync(path.join(folder, 'a.test.js'), '');
    const options = { auto: ['**'], recordings: 'recordings', test: {} };
    const known = { mode: 'record', root: folder, cwd: folder, options, url: server.url, variables: {}, directory: folder };
    const framework = { beforeAll() {}, afterAll() {}, command: () => '' };
    const file = openTestFile({ run: known, testFile: path.join(folder, 'a.test.js'), worker: '1', framework });
    const asks = {};
    file.noteTests(new Map([[asks, ['asks']]]));
    const recording = 'recordings/a.test.js/asks.json';
    const held = await other.begin({ prefix: 'worker-1', name: 'asks', recording, mode: 'record' });
    await assert.rejects(file.beginTest(asks), /asks\.json: another session records there/);
    await held.end({ keep: false });
    await file.beginTest(asks);
    await file.endTest({ passed: false });
  } finally {
    await server.stop();
    await other.stop();
    fs.rmSync(folder, { recursive: true, force: true });
  }
});
