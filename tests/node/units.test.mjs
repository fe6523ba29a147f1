// Names of recordings, modes, patterns, versions and types.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { home, root, run } from './harness.mjs';

const packaged = createRequire(path.join(root, 'src/node/package.json'));
const { matchesGlob } = packaged('./lib/glob.js');
const { checkRunOptions, chooseMode, mergeTestOptions } = packaged('./lib/options.js');
const { recordingNames } = packaged('./lib/recording-names.js');
const { PLATFORMS } = packaged('./lib/binary.js');
const { withLoomrec } = packaged('./jest.js');
const { loomrec, useLoomrec } = packaged('./vitest.js');
const manifest = packaged('./package.json');

test('names of recordings are readable, and no two tests share one', () => {
  assert.deepEqual(recordingNames(['refunds > asks "why?"', 'a/b\\c', '../../etc/passwd', 'ein Größe']), [
    'refunds.asks-why', 'a-b-c', 'etc-passwd', 'ein-Größe',
  ]);
  const [upper, lower, other] = recordingNames(['Say it', 'say it', 'say that']);
  assert.match(upper, /^Say-it~[0-9a-f]{8}$/);
  assert.match(lower, /^say-it~[0-9a-f]{8}$/);
  assert.notEqual(upper.toLowerCase(), lower.toLowerCase());
  assert.equal(other, 'say-that');
  assert.deepEqual(recordingNames(['same', 'same', 'same']), ['same', 'same~2', 'same~3']);
  for (const name of recordingNames(['CON', '???', 'ü'.repeat(400), '.'])) {
    assert.match(name, /~[0-9a-f]{8}$/);
    assert.ok(Buffer.byteLength(name) <= 150, name);
  }
});

test('the variable decides before the option, and CI permits no recording', () => {
  assert.equal(chooseMode({}, {}), 'replay');
  assert.equal(chooseMode({ mode: 'record' }, {}), 'record');
  assert.equal(chooseMode({ mode: 'record' }, { LOOMREC_TESTS: 'off', CI: 'true' }), 'off');
  assert.equal(chooseMode({ mode: 'new' }, { CI: 'false' }), 'new');
  assert.throws(() => chooseMode({ mode: 'new' }, { CI: '1' }), /the option mode: 'new' is refused because CI is set/);
  assert.throws(() => chooseMode({}, { LOOMREC_TESTS: 'recrod' }), /LOOMREC_TESTS is recrod, but must be one of replay/);
});

test('unknown options are refused', () => {
  assert.throws(() => checkRunOptions({ recording: 'x' }, 'loomrec()'), /unknown option recording; did you mean recordings\?/);
  assert.throws(() => checkRunOptions({ colour: 1 }, 'loomrec()'), /unknown option colour; known: mode, auto/);
  assert.throws(() => checkRunOptions({ recordings: '../x' }, 'loomrec()'), /must be the name of a folder/);
});

test('options of inner blocks are added to those of outer ones', () => {
  const merged = mergeTestOptions([
    { ignore: '/a', vars: { one: '1', two: '2' } }, { ignore: ['/b'], fault: '429' }, { fault: '503', vars: { two: '3' } },
  ]);
  assert.deepEqual(merged, { ignore: ['/a', '/b'], fault: '503', vars: { one: '1', two: '3' } });
});

test('a configuration of jest keeps what it has', () => {
  const config = withLoomrec({ preset: 'ts-jest', setupFilesAfterEnv: ['own.js'], globals: { own: 1 } }, { auto: 'tests/**' });
  assert.equal(config.preset, 'ts-jest');
  assert.equal(config.setupFilesAfterEnv.length, 2);
  assert.equal(config.setupFilesAfterEnv[1], 'own.js');
  assert.deepEqual(config.globals, { own: 1, loomrec: { auto: 'tests/**' } });
  assert.match(config.globalSetup, /global-setup\.js$/);
  assert.throws(() => withLoomrec({ globalSetup: 'own.js' }), /has a globalSetup already.*@loomrec\/cli\/jest\/global-setup/);
  assert.throws(() => withLoomrec({}, { autos: 'x' }), /unknown option autos; did you mean auto\?/);
});

test('a plug-in of vitest keeps what the configuration has', () => {
  const config = { test: { setupFiles: 'own.js', globalSetup: ['global.js'], provide: { own: 1 }, server: { deps: { inline: ['x'] } } } };
  loomrec({ auto: 'tests/**' }).config(config);
  assert.match(config.test.setupFiles[0], /vitest.setup\.mjs$/);
  assert.equal(config.test.setupFiles[1], 'own.js');
  assert.equal(config.test.globalSetup[1], 'global.js');
  assert.deepEqual(config.test.provide, { own: 1, loomrecOptions: { auto: 'tests/**' } });
  assert.equal(config.test.server.deps.inline[0], 'x');
});

test('useLoomrec without the plug-in says what is missing', () => {
  assert.throws(() => useLoomrec(), /add loomrec\(\) to the plugins of vitest\.config, or preset: '@loomrec\/cli'/);
});

test('patterns of paths', () => {
  for (const [pattern, file, expected] of [
    ['tests/**', 'tests/a/b.test.js', true], ['tests/*.js', 'tests/a/b.js', false], ['**/*.test.{js,ts}', 'a/b/c.test.ts', true],
    ['**/*.test.{js,ts}', 'c.test.js', true], ['tests/a+b?.js', 'tests/a+bc.js', true], ['./tests/x.js', 'tests/x.js', true],
    ['tests/**', 'test/x.js', false],
  ]) {
    assert.equal(matchesGlob(pattern, file), expected, `${pattern} ${file}`);
  }
});

test('the versions are that of loomrec', () => {
  const version = fs.readFileSync(path.join(root, 'Cargo.toml'), 'utf8').match(/^\[workspace\.package\][^]*?^version = "(.+)"/m)[1];
  assert.equal(manifest.version, version);
  const expected = Object.fromEntries(PLATFORMS.map((name) => [`@loomrec/cli-${name}`, version]));
  assert.deepEqual(manifest.optionalDependencies, expected);
});

test('the types describe the package', async () => {
  const compiler = path.join(home, 'current/node_modules/typescript/bin/tsc');
  const folder = path.join(home, 'current/work', `types-${process.pid}`);
  fs.cpSync(path.join(path.dirname(fileURLToPath(import.meta.url)), 'types'), folder, { recursive: true });
  try {
    const { code, output } = await run(process.execPath, [compiler, '--noEmit', '-p', folder]);
    assert.equal(code, 0, output);
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
});
