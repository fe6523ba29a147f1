#!/usr/bin/env node
'use strict';

// The command `loomrec` of the npm package: runs the binary and ends as the binary ends.

const { spawn } = require('node:child_process');
const os = require('node:os');
const { findBinary } = require('../lib/binary.js');

/** Signals that are meant for loomrec, not for this launcher. */
const FORWARDED = process.platform === 'win32' ? ['SIGINT', 'SIGBREAK'] : ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT'];

/** Whether a person at a terminal can press Ctrl-C. */
const onTerminal = [process.stdin, process.stdout, process.stderr].some((stream) => stream.isTTY);

/** Passes signals on to the child that `start` returns. */
function startForwarding(start) {
  let child;
  const forward = (signal) => {
    // A terminal sends Ctrl-C to every process in its foreground, so the child has it already. A second
    // one would make loomrec stop at once and not wait for answers that are on their way.
    if (onTerminal && (signal === 'SIGINT' || signal === 'SIGQUIT')) return;
    // Windows delivers Ctrl-C and Ctrl-Break to the whole console.
    if (process.platform !== 'win32') child.kill(signal);
  };
  // Before the child is there, or a signal in between would end this process and not reach the child.
  for (const name of FORWARDED) process.on(name, forward);
  child = start();
  return { child, stop: () => FORWARDED.forEach((name) => process.removeListener(name, forward)) };
}

/** Ends this process as the child ended: with its code, or by the signal that ended it. */
function endAs(code, signal) {
  if (signal === null) {
    process.exitCode = code;
    return;
  }
  process.exitCode = 128 + os.constants.signals[signal];
  // SIGKILL and the like cannot be caught, so this ends the process at once; the others do by default.
  process.kill(process.pid, signal);
}

function main() {
  let binary;
  try {
    binary = findBinary();
  } catch (error) {
    console.error(`loomrec: ${error.message}`);
    process.exitCode = 127;
    return;
  }
  const { child, stop } = startForwarding(() => spawn(binary, process.argv.slice(2), { stdio: 'inherit' }));
  child.on('error', (error) => {
    stop();
    console.error(`loomrec: failed to start ${binary}: ${error.message}`);
    process.exitCode = 126;
  });
  child.on('exit', (code, signal) => {
    stop();
    endAs(code, signal);
  });
}

main();
