'use strict';

// Connections of a test file that go around loomrec.
//
// Node's own clients ignore the variables of a proxy, or obey them only in some versions. So this module watches what
// they do, by Node's diagnostics channels, and asks loomrec's guard about each host that a test has contacted: the
// guard counts a connection to a provider, and refuses it in a replay.

const channels = require('node:diagnostics_channel');
const http = require('node:http');

/** The channels of `fetch` and of `http` and `https`, and how a message names the address. */
const WATCHED = {
  'undici:request:create': ({ request }) => String(request.origin ?? ''),
  'http.client.request.start': ({ request }) => `${request.protocol}//${request.getHeader('host') ?? request.host}`,
};
const WATCHING = Symbol.for('loomrec.direct-calls');
const LOOPBACK = /^(localhost|127\.|\[?::1\]?$)/;
/** How long the guard may take to answer. It connects to hosts that are no provider's. */
const PATIENCE = 5000;

/** Begins to note the hosts that are contacted in this process. Returns a function that ends it. */
function watchDirectCalls() {
  const hosts = (globalThis[WATCHING] ??= new Set());
  const watchers = Object.entries(WATCHED).map(([name, addressOf]) => {
    const watcher = (message) => {
      const host = httpsHost(addressOf(message));
      if (host !== null) hosts.add(host);
    };
    channels.subscribe(name, watcher);
    return [name, watcher];
  });
  return () => watchers.forEach(([name, watcher]) => channels.unsubscribe(name, watcher));
}

/** Returns host and port of an `https` address that is not on this machine, or null. */
function httpsHost(address) {
  try {
    const { protocol, hostname, port } = new URL(address);
    return protocol !== 'https:' || LOOPBACK.test(hostname) ? null : `${hostname}:${port || 443}`;
  } catch {
    return null; // a request of another kind
  }
}

/**
 * Returns the hosts of providers among those that were contacted since the last call. The guard counts them.
 * @param {string | undefined} guard the URL of the guard
 */
async function takeDirectCalls(guard) {
  const hosts = [...(globalThis[WATCHING] ?? [])];
  globalThis[WATCHING]?.clear();
  if (guard === undefined) return [];
  const refused = await Promise.all(hosts.map(async (host) => ((await isProvider(guard, host)) ? [host] : [])));
  return refused.flat().map((host) => host.replace(/:443$/, ''));
}

/** Asks the guard for a connection to a host, and ends it at once. */
function isProvider(guard, host) {
  const { hostname, port, username, password } = new URL(guard);
  const login = Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`).toString('base64');
  const headers = username || password ? { 'proxy-authorization': `Basic ${login}` } : {};
  return new Promise((resolve) => {
    const request = http.request({ hostname, port, headers, method: 'CONNECT', path: host, agent: false, timeout: PATIENCE });
    request.on('connect', (answer, socket) => {
      socket.destroy();
      resolve(answer.statusCode === 403);
    });
    request.on('timeout', () => request.destroy());
    request.on('error', () => resolve(false));
    request.end();
  });
}

module.exports = { takeDirectCalls, watchDirectCalls };
