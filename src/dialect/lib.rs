//! The formats and words of other tools, translated into loomrec's own.
//!
//! [`interchange`] imports and exports recordings. [`yaml`] reads YAML as JSON, and as the pieces of
//! cassettes. Everything is pure: no I/O, no clock.

pub mod interchange;
pub mod yaml;
