'use strict';

// Requests to the control endpoints of a loomrec server. They use `node:http` and no agent, so that no
// proxy of the environment, no replaced `fetch` and no fake timer of a test is in between.

const http = require('node:http');
const { LoomrecError } = require('./error.js');

/**
 * Sends one request and returns the JSON of the answer.
 * @param {string} server the address of the server
 * @param {'GET' | 'POST'} method
 * @param {string} path
 * @param {object} [body]
 * @returns {Promise<any>}
 */
function control(server, method, path, body) {
  const text = body === undefined ? undefined : JSON.stringify(body);
  const headers = text === undefined ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) };
  return new Promise((resolve, reject) => {
    const fail = (error) =>
      reject(new LoomrecError(`failed to reach loomrec at ${server}: ${error.message}`, { cause: error }));
    const request = http.request(new URL(path, server), { method, headers, agent: false }, (answer) => {
      const chunks = [];
      answer.on('data', (chunk) => chunks.push(chunk));
      answer.on('error', fail);
      answer.on('end', () => {
        const read = readAnswer(answer.statusCode, Buffer.concat(chunks).toString('utf8'), `${method} ${path}`);
        if (read instanceof LoomrecError) reject(read);
        else resolve(read);
      });
    });
    request.on('error', fail);
    request.end(text);
  });
}

/** Returns the JSON of an answer, or the error that it stands for. */
function readAnswer(status, text, request) {
  let value;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    return new LoomrecError(`loomrec answered ${request} with status ${status} and no JSON`, { status, cause });
  }
  if (status >= 200 && status < 300) return value;
  const message = typeof value.error === 'string' ? value.error : (value.error?.message ?? text);
  return new LoomrecError(message, { status });
}

module.exports = { control };
