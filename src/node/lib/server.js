'use strict';

// A loomrec process that this program started.

const { spawn } = require('node:child_process');
const readline = require('node:readline');
const { findBinary } = require('./binary.js');
const { LoomrecError } = require('./error.js');
const { checkNames } = require('./options.js');
const { LoomrecClient } = require('./session.js');

const LISTENING = 'loomrec listening on ';
/** Flags of a replay: nothing weakens it but what control calls ask for, which the receipts name. */
const STRICT_FLAGS = ['--strict', '--allow-control'];
/** What a settings file may not change: the address is read from a line of the messages. */
const READABLE = { LOOMREC_QUIET: 'false', LOOMREC_LOG_FORMAT: 'human' };
/** How many lines of a process's messages are kept. */
const MOST_MESSAGES = 1000;
const OPTIONS = ['command', 'recording', 'args', 'cwd', 'env', 'binary', 'sessionsByControl', 'startWithin', 'strict'];

/** A server that this program started. It ends when this program ends. */
class LoomrecServer extends LoomrecClient {
  #child;
  #ended;
  #messages;

  constructor(url, child, ended, messages) {
    super(url);
    this.#child = child;
    this.#ended = ended;
    this.#messages = messages;
  }

  /** The last lines that the server wrote to stderr; the receipt is among them once it has stopped. */
  get messages() {
    return this.#messages.join('\n');
  }

  /**
   * Stops the server as Ctrl-C does, and returns its exit code. A server that does not end
   * within `within` milliseconds is killed.
   */
  async stop({ within = 30_000 } = {}) {
    if (this.#child.exitCode === null && this.#child.signalCode === null) {
      this.#child.kill('SIGINT');
    }
    this.#child.ref();
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), within);
    const exitCode = await this.#ended;
    clearTimeout(timer);
    return { exitCode, messages: this.messages };
  }
}

/**
 * Starts `loomrec record` or `loomrec replay` on a free port, and returns once it listens.
 *
 * Of the `LOOMREC_…` variables, the process gets `LOOMREC_TRUST` only: the others are meant for another run.
 */
async function startServer(options) {
  checkNames(options, OPTIONS, 'startServer');
  const { cwd = process.cwd(), startWithin = 30_000 } = options;
  const words = commandLine(options);
  // A Ctrl-C in the terminal is for this program, which then stops the server itself.
  const child = spawn(options.binary ?? findBinary(), words, {
    cwd, env: serverEnvironment(options.env), stdio: ['pipe', 'ignore', 'pipe'], detached: process.platform !== 'win32',
  });
  const messages = [];
  const ended = new Promise((resolve) => {
    child.on('close', (code, signal) => resolve(code ?? signal));
    child.on('error', (error) => {
      messages.push(error.message);
      resolve(null);
    });
  });
  child.stdin?.on('error', () => {}); // the child has ended
  endWithThisProcess(child, ended);
  const url = await waitForAddress(child, ended, messages, startWithin);
  if (url === null) {
    child.kill('SIGKILL');
    throw new LoomrecError(`\`loomrec ${words.join(' ')}\` did not start: ${messages.join('\n').trim() || 'it printed no address'}`);
  }
  child.unref();
  child.stdin.unref?.();
  child.stderr.unref?.();
  return new LoomrecServer(url, child, ended, messages);
}

/**
 * Returns the command line. A replay is strict unless `strict` is false. A server for the sessions of a framework has
 * the guard, which the variables of its environment name as the proxy for `https` connections.
 */
function commandLine({ command = 'replay', recording, args = [], sessionsByControl, strict = true }) {
  if (!['record', 'replay'].includes(command)) {
    throw new LoomrecError(`startServer: command is ${command}, but must be record or replay`);
  }
  const words = [command, '--listen', '127.0.0.1:0', '--stop-with-stdin'];
  if (recording !== undefined) words.push('-r', recording);
  if (command === 'replay' && strict) words.push(...STRICT_FLAGS);
  if (sessionsByControl ?? recording?.includes('{session}')) words.push('--sessions-by-control');
  return [...words, ...args];
}

function serverEnvironment(own = process.env) {
  const kept = Object.entries(own).filter(([name]) => !name.startsWith('LOOMREC_') || name === 'LOOMREC_TRUST');
  return { ...Object.fromEntries(kept), ...READABLE };
}

/** Resolves to the address that the server printed, or to null if it ended or is too slow. */
function waitForAddress(child, ended, messages, within) {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(null), within);
    const settle = (url) => {
      clearTimeout(timer);
      resolve(url);
    };
    readline.createInterface({ input: child.stderr }).on('line', (line) => {
      messages.push(line);
      if (messages.length > MOST_MESSAGES) messages.shift();
      if (line.startsWith(LISTENING)) settle(line.slice(LISTENING.length).split(/\s/)[0]);
    });
    ended.then(() => settle(null));
  });
}

/**
 * Stops the child when this process exits. A process that is killed has no `exit` event: then the
 * child sees its stdin end.
 */
function endWithThisProcess(child, ended) {
  const kill = () => child.kill('SIGTERM');
  process.on('exit', kill);
  ended.then(() => process.removeListener('exit', kill));
}

module.exports = { LoomrecServer, startServer };
