'use strict';

// Calls that a test makes after its end, by a promise or a timer for which it did not wait.
//
// All tests of a worker use the same addresses, as clients that live longer than a test need. So only the context in
// which a call is made (AsyncLocalStorage) shows to which test it belongs. If that test has ended, the call gets a
// prefix that has no session, and the server refuses it. A call without a context belongs to the test that runs.

const { AsyncLocalStorage } = require('node:async_hooks');
const channels = require('node:diagnostics_channel');
const http = require('node:http');

/** Node's own module is the same for all test files of a worker, and keeps what they share. */
const SHARED = Symbol.for('loomrec.late-calls');
const CREATED = 'undici:request:create';
/** Follows the prefix of the worker in the path of a late call. */
const LATE = '-after-the-end-of-its-test';

function sharedState() {
  return (http.ClientRequest[SHARED] ??= { contexts: new AsyncLocalStorage(), stopWatch: () => {} });
}

/** Returns the context of the test that makes the current call, or undefined. */
function currentContext() {
  return sharedState().contexts.getStore();
}

/**
 * Runs a function whose calls belong to the test of this context.
 * @param {{ended: boolean, file?: string, name?: string}} context
 */
function runInContext(context, run) {
  return sharedState().contexts.run(context, run);
}

/**
 * Returns a function that runs the given one in a context.
 * @param {() => (object | undefined)} contextNow returns the context when the function is called
 */
function bindToContext(fn, contextNow) {
  // A test framework runs a generator function by itself.
  if (typeof fn !== 'function' || Object.prototype.toString.call(fn) === '[object GeneratorFunction]') return fn;
  function bound(...words) {
    const context = contextNow();
    return context === undefined ? fn.apply(this, words) : runInContext(context, () => fn.apply(this, words));
  }
  // The frameworks read the number of parameters, and keep members of their own.
  return Object.defineProperties(bound, Object.getOwnPropertyDescriptors(fn));
}

/**
 * Watches what `fetch`, `undici` and `http` send to the server. It takes the place of an earlier watch.
 * @param {{server: string, prefix: string, report: (context: object) => void}} watched `report` is told of each late call
 */
function watchLateCalls({ server, prefix, report }) {
  const shared = sharedState();
  shared.stopWatch();
  const { host: serverHost } = new URL(server);
  const rename = (host, path) => {
    const context = currentContext();
    if (!context?.ended || host !== serverHost || !path.startsWith(`/@${prefix}/`)) return path;
    report(context);
    return path.replace(`/@${prefix}/`, `/@${prefix}${LATE}/`);
  };
  const created = ({ request }) => {
    request.path = rename(hostOf(request.origin), String(request.path));
  };
  channels.subscribe(CREATED, created);
  const restore = replaceFirstLine(rename);
  shared.stopWatch = () => {
    channels.unsubscribe(CREATED, created);
    restore();
  };
}

/** Has the requests of `http` send another path. Returns a function that ends it. */
function replaceFirstLine(rename) {
  const prototype = http.ClientRequest.prototype;
  const inherited = prototype._storeHeader;
  prototype._storeHeader = function storeHeader(firstLine, headers) {
    const [method, path, ...version] = String(firstLine).split(' ');
    return inherited.call(this, [method, rename(this.getHeader('host'), path), ...version].join(' '), headers);
  };
  return () => {
    delete prototype._storeHeader;
  };
}

function hostOf(origin) {
  try {
    return new URL(origin).host;
  } catch {
    return undefined;
  }
}

module.exports = { bindToContext, currentContext, runInContext, watchLateCalls };
