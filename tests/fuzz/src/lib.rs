//! Shared code of the fuzz targets: properties that several targets check, an oracle in Python, and
//! a folder in memory for targets that need files.
//!
//! A target panics if a property does not hold. libFuzzer then keeps the input.

pub mod command_line;
pub mod commands;
pub mod frames;
pub mod framing;
pub mod import;
pub mod python;
pub mod scratch;
pub mod server;
pub mod spelling;
pub mod trouble;
pub mod upstream;
pub mod verifying;
