import api from './index.js';

export const { findBinary, LoomrecClient, LoomrecError, LoomrecServer, Session, startServer } = api;
