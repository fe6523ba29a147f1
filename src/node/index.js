'use strict';

// The Node API of loomrec.

const { findBinary } = require('./lib/binary.js');
const { LoomrecError } = require('./lib/error.js');
const { LoomrecServer, startServer } = require('./lib/server.js');
const { LoomrecClient, Session } = require('./lib/session.js');

module.exports = { findBinary, LoomrecClient, LoomrecError, LoomrecServer, Session, startServer };
