'use strict';

// Sessions of a loomrec server: `LoomrecClient` begins them, `Session` is one of them.

const { control } = require('./control.js');
const { toSessionRequest } = require('./options.js');

/** What the server knows about a session, with the numbers that most programs want. */
function toResult(answer) {
  const { receipt } = answer;
  return {
    ...answer,
    served: receipt.served ?? 0,
    recorded: receipt.recorded ?? 0,
    missed: receipt.missed ?? 0,
    unused: receipt.unused ?? 0,
    usage: { input: receipt.tokens?.input ?? 0, output: receipt.tokens?.output ?? 0 },
    cost: receipt.cost_usd ?? null,
  };
}

/** A session that was begun with `LoomrecClient.begin`. */
class Session {
  #server;

  constructor(server, described) {
    this.#server = server;
    this.prefix = described.prefix;
    this.name = described.name;
    this.recording = described.recording;
    this.mode = described.mode;
    this.url = described.url;
    this.exists = described.exists;
  }

  /** Returns the session's receipt, calls, usage and cost at this moment. */
  async show() {
    const query = new URLSearchParams({ prefix: this.prefix });
    return toResult(await control(this.#server, 'GET', `/__loomrec/session?${query}`));
  }

  /** Adds values of the run. The session must not have had a call yet. */
  async addVars(vars) {
    await control(this.#server, 'POST', '/__loomrec/session/vars', { prefix: this.prefix, vars });
  }

  /** Ends the session. With `keep: false`, what it recorded is discarded. */
  async end({ keep = true } = {}) {
    return toResult(await control(this.#server, 'POST', '/__loomrec/session/end', { prefix: this.prefix, keep }));
  }
}

/** A loomrec server that is already running, at `url`. */
class LoomrecClient {
  /** @param {string} url */
  constructor(url) {
    this.url = url;
  }

  /** Returns the variables that point SDKs at this server, with a prefix or without. */
  async environment(prefix) {
    const query = prefix === undefined ? '' : `?${new URLSearchParams({ prefix })}`;
    return (await control(this.url, 'GET', `/__loomrec/environment${query}`)).variables;
  }

  /** Begins a session. */
  async begin(options) {
    const answer = await control(this.url, 'POST', '/__loomrec/session', toSessionRequest(options));
    return new Session(this.url, answer.session);
  }

  /** Returns the open sessions. */
  async sessions() {
    return control(this.url, 'GET', '/__loomrec/sessions');
  }

  /** Ends the session of a prefix, also one that another client began. */
  async endSession(prefix, { keep = true } = {}) {
    return toResult(await control(this.url, 'POST', '/__loomrec/session/end', { prefix, keep }));
  }
}

module.exports = { LoomrecClient, Session };
