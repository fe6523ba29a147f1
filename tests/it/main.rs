//! The integration tests: one binary, real sockets, real files, real processes.
