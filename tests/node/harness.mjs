// What the tests need: the scripted upstream, copies of the sample project, and runs of vitest and jest.

import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import readline from 'node:readline';
import { fileURLToPath } from 'node:url';

const here = path.dirname(fileURLToPath(import.meta.url));
export const root = path.resolve(here, '../..');
export const home = process.env.LOOMREC_NODE_HOME ?? path.join(root, '.cache/node');
const SAMPLE = path.join(here, 'sample');
/** Milliseconds a run may take: a bound against hanging, not a measure. */
const PATIENCE = 120_000;

/** Each framework: where it is installed, how it is run, and what writes the results of its tests. */
export const FRAMEWORKS = {
  'vitest 4': { plugin: 'vitest', folder: 'current' },
  'jest 30': { plugin: 'jest', folder: 'current' },
  'vitest 3': { plugin: 'vitest', folder: 'older' },
  'jest 29': { plugin: 'jest', folder: 'older' },
};
const COMMANDS = {
  vitest: (results) => ['vitest/vitest.mjs', 'run', '--reporter=default', '--reporter=json', `--outputFile.json=${results}`],
  jest: (results) => ['jest/bin/jest.js', '--json', `--outputFile=${results}`],
};
const KEYS = { OPENAI_API_KEY: `sk-proj-${'Canary'.repeat(6)}`, ANTHROPIC_API_KEY: `sk-ant-api03-${'Canary'.repeat(6)}` };

/** Returns the environment of a run: nothing of this one that could change what loomrec does. */
export function cleanEnvironment(more = {}) {
  const { PATH, HOME, TMPDIR, LOOMREC_BIN, SystemRoot } = process.env;
  return Object.fromEntries(Object.entries({ PATH, HOME, TMPDIR, LOOMREC_BIN, SystemRoot, NO_COLOR: '1', ...more })
    .filter(([, value]) => value !== undefined));
}

/** Runs a program to its end, and returns its exit code, its signal and all it wrote. */
export function run(program, words, options = {}) {
  const child = spawn(program, words, { stdio: ['ignore', 'pipe', 'pipe'], ...options });
  return finish(child);
}

/** Waits for a child to end. */
export function finish(child) {
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream?.setEncoding('utf8').on('data', (text) => { output += text; });
  const timer = setTimeout(() => child.kill('SIGKILL'), PATIENCE);
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => {
      clearTimeout(timer);
      resolve({ code, signal, output });
    });
  });
}

/** The scripted upstream of the SDKs' tests, in a process of its own. */
export class Upstream {
  static async start() {
    const folder = fs.mkdtempSync(path.join(fs.realpathSync(home), 'work/upstream-'));
    const counts = path.join(folder, 'counts.json');
    const program = path.join(root, 'tests/sdk/upstream.py');
    const child = spawn('python3', [program, '--counts', counts], { stdio: ['ignore', 'pipe', 'inherit'] });
    const url = await new Promise((resolve, reject) => {
      readline.createInterface({ input: child.stdout }).once('line', resolve);
      child.once('exit', () => reject(new Error('the upstream did not start')));
    });
    return new Upstream(child, url, folder, counts);
  }

  constructor(child, url, folder, counts) {
    Object.assign(this, { child, url, folder, counts });
  }

  /** Returns how many requests came. */
  requests() {
    return fs.existsSync(this.counts) ? JSON.parse(fs.readFileSync(this.counts, 'utf8')).requests : 0;
  }

  async stop() {
    const ended = new Promise((resolve) => this.child.once('close', resolve));
    this.child.kill();
    await ended;
    fs.rmSync(this.folder, { recursive: true, force: true });
  }
}

/** A copy of the sample project, for one framework. */
export class Project {
  static number = 0;

  constructor(framework, from = SAMPLE) {
    this.framework = framework;
    this.modules = path.join(home, framework.folder, 'node_modules');
    Project.number += 1;
    this.path = path.join(home, framework.folder, 'work', `${framework.plugin}-${process.pid}-${Project.number}`);
    fs.rmSync(this.path, { recursive: true, force: true });
    fs.cpSync(from, this.path, { recursive: true });
    for (const file of this.files('tests').filter((name) => name.endsWith('.test.js'))) {
      this.edit(file, /@loomrec\/cli\/FRAMEWORK/, `@loomrec/cli/${framework.plugin}`, { mayMiss: true });
    }
  }

  /** Returns a copy of this project as it is now. */
  copy() {
    return new Project(this.framework, this.path);
  }

  remove() {
    fs.rmSync(this.path, { recursive: true, force: true });
  }

  read(file) {
    return fs.readFileSync(path.join(this.path, file), 'utf8');
  }

  write(file, text) {
    fs.mkdirSync(path.join(this.path, path.dirname(file)), { recursive: true });
    fs.writeFileSync(path.join(this.path, file), text);
  }

  /** Replaces text in a file; it must be there. */
  edit(file, from, to, { mayMiss = false } = {}) {
    const before = this.read(file);
    const after = before.replaceAll(typeof from === 'string' ? from : new RegExp(from, 'g'), to);
    if (before === after && !mayMiss) throw new Error(`${file} has no ${from}`);
    this.write(file, after);
  }

  /** Returns all files below a folder, sorted. */
  files(folder = '.') {
    const found = fs.readdirSync(path.join(this.path, folder), { withFileTypes: true });
    return found.flatMap((entry) => {
      const file = path.posix.join(folder, entry.name);
      if (entry.name === 'node_modules') return [];
      return entry.isDirectory() ? this.files(file) : [file];
    }).sort();
  }

  /** Returns the files in folders of recordings, each with its hash. */
  recordings() {
    const isRecording = (file) => file.includes('recordings/') && !file.endsWith('/.loomrec/.gitignore');
    const files = this.files().filter(isRecording);
    return new Map(files.map((file) => [file, createHash('sha256').update(this.read(file)).digest('hex')]));
  }

  /** Returns the environment of a run. With an upstream, there are keys, too. */
  environment({ upstream, env = {} } = {}) {
    const keys = upstream ? { SAMPLE_UPSTREAM: upstream.url, SAMPLE_API_KEY: KEYS.OPENAI_API_KEY, ...KEYS } : {};
    return cleanEnvironment({ ...keys, ...env });
  }

  /** Runs the framework. */
  async run({ upstream, words = [], env = {} } = {}) {
    const results = path.join(this.path, 'results.json');
    fs.rmSync(results, { force: true });
    const [program, ...own] = COMMANDS[this.framework.plugin](results);
    const outcome = await run(process.execPath, [path.join(this.modules, program), ...own, ...words], {
      cwd: this.path, env: this.environment({ upstream, env }),
    });
    return { ...outcome, tests: readResults(results) };
  }
}

/** Returns the status and the messages of each test by its full name. */
function readResults(file) {
  if (!fs.existsSync(file)) return new Map();
  const { testResults } = JSON.parse(fs.readFileSync(file, 'utf8'));
  return new Map(testResults.flatMap(({ assertionResults }) => assertionResults)
    .map((test) => [test.fullName, { status: test.status, message: test.failureMessages?.join('\n') ?? '' }]));
}
