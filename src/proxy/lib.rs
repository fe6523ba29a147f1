//! The proxy between a program and the engines that answer its calls.
//!
//! [`server`] accepts connections, reads requests, has an engine answer them, and applies the
//! faults. [`inspector`] shows calls in a browser. [`guard`] is the proxy of a wrapped command,
//! and reports connections that go around loomrec.

pub mod guard;
pub mod inspector;
pub mod server;
