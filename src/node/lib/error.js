'use strict';

/** loomrec could not be found, started or reached, or refused what was asked of it. */
class LoomrecError extends Error {
  /**
   * @param {string} message
   * @param {{status?: number, cause?: unknown}} [details] `status` is the HTTP status of an answer
   *   that refused a request to the server.
   */
  constructor(message, details = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.name = 'LoomrecError';
    if (details.status !== undefined) this.status = details.status;
  }

  /** Returns an error whose stack is its message: the lines of this package mean nothing to users. */
  static quiet(message) {
    const error = new LoomrecError(message);
    error.stack = `${error.name}: ${message}`;
    return error;
  }
}

module.exports = { LoomrecError };
