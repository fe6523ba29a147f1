// The command of the npm package, with the binary in a package for this platform, as npm installs it.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import readline from 'node:readline';
import { after, before, test } from 'node:test';
import { cleanEnvironment, finish, home, root, run } from './harness.mjs';

const { platformName } = createRequire(import.meta.url)(path.join(root, 'src/node/lib/binary.js'));
const folder = path.join(home, 'work', `launcher-${process.pid}`);
const modules = path.join(folder, 'node_modules/@loomrec');
const launcher = path.join(modules, 'cli/bin/loomrec.js');
const packaged = path.join(modules, `cli-${platformName()}`);
const env = cleanEnvironment();
delete env.LOOMREC_BIN;

before(() => {
  fs.cpSync(path.join(home, 'current/node_modules/@loomrec/cli'), path.join(modules, 'cli'), { recursive: true, dereference: true });
  fs.mkdirSync(path.join(packaged, 'bin'), { recursive: true });
  fs.symlinkSync(fs.realpathSync(process.env.LOOMREC_BIN), path.join(packaged, 'bin/loomrec'));
  fs.writeFileSync(path.join(packaged, 'package.json'), JSON.stringify({ name: path.basename(packaged), version: '0.0.0' }));
});
after(() => fs.rmSync(folder, { recursive: true, force: true }));

/** Starts `loomrec record -- CMD` by the launcher; resolves when CMD has written its first line. */
async function startCommand(script) {
  const words = [launcher, 'record', '-r', path.join(folder, 'recording.json'), '--allow-empty', '--', 'sh', '-c', script];
  const child = spawn(process.execPath, words, { cwd: folder, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = finish(child);
  const line = await new Promise((resolve) => readline.createInterface({ input: child.stdout }).once('line', resolve));
  return { child, ended, line };
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

test('runs the binary of the package for this platform', async () => {
  const version = JSON.parse(fs.readFileSync(path.join(root, 'src/node/package.json'), 'utf8')).version;
  const { code, output } = await run(process.execPath, [launcher, '--version'], { env });
  assert.equal(code, 0, output);
  assert.equal(output.trim(), `loomrec ${version}`);
});

test('ends with the code of the command', async () => {
  const { ended } = await startCommand('echo ready; exit 7');
  const { code, output } = await ended;
  assert.equal(code, 7, output);
});

test('ends with the code of loomrec', async () => {
  const { code, output } = await run(process.execPath, [launcher, 'replay', '--no-such-flag'], { env });
  assert.equal(code, 2, output);
});

for (const [signal, number] of [['SIGTERM', 15], ['SIGINT', 2], ['SIGHUP', 1]]) {
  test(`passes ${signal} on to the command, and leaves nothing behind`, async () => {
    const { child, ended, line } = await startCommand(`echo $$; trap 'exit ${128 + number}' ${number}; while :; do sleep 0.05; done`);
    child.kill(signal);
    const { code, output } = await ended;
    assert.equal(code, 128 + number, output);
    assert.equal(isAlive(Number(line)), false, 'the command still runs');
    assert.match(output, /loomrec record: /, 'loomrec did not come to its receipt');
  });
}

test('Ctrl-C in a terminal reaches the binary once', async () => {
  // In place of loomrec, which would end at once after the second signal, a program that counts them.
  const counter = path.join(folder, 'counter.mjs');
  fs.writeFileSync(counter, `#!${process.execPath}
let count = 0;
process.on('SIGINT', () => { if (count++ === 0) setTimeout(() => { console.log('signals: ' + count); process.exit(5); }, 500); });
console.log('ready');
setTimeout(() => {}, 20000);
`, { mode: 0o755 });
  const words = [path.join(root, 'tests/node/press_ctrl_c.py'), process.execPath, launcher];
  const { code, output } = await run('python3', words, { cwd: folder, env: { ...env, LOOMREC_BIN: counter } });
  assert.match(output, /signals: 1/);
  assert.equal(code, 5, output);
});

test('is ended by the signal that ended the binary', async () => {
  const { child, ended, line } = await startCommand('echo $$; exec sleep 20');
  const [binary] = fs.readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').trim().split(' ');
  process.kill(Number(binary), 'SIGKILL');
  process.kill(Number(line), 'SIGKILL'); // nobody is left to end the command
  const { code, signal } = await ended;
  assert.deepEqual([code, signal], [null, 'SIGKILL']);
});

test('says what to do if the package for this platform is missing', async () => {
  const away = `${packaged}-away`;
  fs.renameSync(packaged, away);
  try {
    const { code, output } = await run(process.execPath, [launcher, '--version'], { env });
    assert.equal(code, 127, output);
    assert.match(output, new RegExp(`^loomrec: the package @loomrec/cli-${platformName()}, .* is not installed.*PATH.*LOOMREC_BIN`));
  } finally {
    fs.renameSync(away, packaged);
  }
});

test('runs a binary on the PATH if there is no package, and never itself', async () => {
  const away = `${packaged}-away`;
  const [scripts, binaries] = ['scripts', 'binaries'].map((name) => path.join(folder, name));
  for (const name of [scripts, binaries]) fs.mkdirSync(name, { recursive: true });
  // As npm does it, the launcher is on the PATH under the same name.
  fs.symlinkSync(launcher, path.join(scripts, 'loomrec'));
  fs.symlinkSync(fs.realpathSync(process.env.LOOMREC_BIN), path.join(binaries, 'loomrec'));
  fs.renameSync(packaged, away);
  try {
    const both = { ...env, PATH: [scripts, binaries, env.PATH].join(path.delimiter) };
    const { code, output } = await run(process.execPath, [launcher, '--version'], { env: both });
    assert.equal(code, 0, output);
    assert.match(output, /^loomrec \d/);
    const alone = { ...env, PATH: scripts };
    const missing = await run(process.execPath, [launcher, '--version'], { env: alone });
    assert.equal(missing.code, 127, missing.output);
  } finally {
    fs.renameSync(away, packaged);
  }
});

test('a folder of the checkout can be installed, and finds the binary on the PATH', async () => {
  const project = path.join(folder, 'checkout');
  fs.mkdirSync(project, { recursive: true });
  fs.writeFileSync(path.join(project, 'package.json'), '{ "private": true }');
  const binaries = path.join(folder, 'of-cargo');
  fs.mkdirSync(binaries, { recursive: true });
  fs.symlinkSync(fs.realpathSync(process.env.LOOMREC_BIN), path.join(binaries, 'loomrec'));
  const words = ['install', '--no-audit', '--no-fund', '--omit=optional', '--install-links', '-D', path.join(root, 'src/node')];
  const installed = await run('npm', words, { cwd: project, env: { ...env, npm_config_cache: path.join(folder, 'npm') } });
  assert.equal(installed.code, 0, installed.output);
  assert.equal(fs.lstatSync(path.join(project, 'node_modules/@loomrec/cli')).isSymbolicLink(), false);
  const both = { ...env, PATH: [binaries, env.PATH].join(path.delimiter) };
  const { code, output } = await run(path.join(project, 'node_modules/.bin/loomrec'), ['--version'], { cwd: project, env: both });
  assert.equal(code, 0, output);
});

test('LOOMREC_BIN takes precedence, and must name a file', async () => {
  const { code, output } = await run(process.execPath, [launcher, '--version'], { env: { ...env, LOOMREC_BIN: '/no/such/file' } });
  assert.equal(code, 127, output);
  assert.match(output, /LOOMREC_BIN names \/no\/such\/file, which is not a file/);
});
