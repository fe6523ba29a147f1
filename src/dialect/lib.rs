//! The formats and words of other tools, translated into loomrec's own.
//!
//! [`interchange`] imports and exports recordings. [`compat`] is what a running server says in other
//! words, [`plain_entry`] what is said of recordings without requests,
//! [`suite`] what fails in plans of another form. [`yaml`] reads YAML as JSON, and as the pieces of cassettes. Everything is pure: no I/O, no
//! clock.

pub mod compat;
pub mod interchange;
pub mod plain_entry;
pub mod suite;
pub mod yaml;
