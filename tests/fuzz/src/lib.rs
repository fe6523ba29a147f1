//! What the fuzz targets share: the properties that several of them hold, an oracle in
//! Python, and a folder in memory for those that need files.
//!
//! A target panics where a property does not hold; libFuzzer keeps the input.

pub mod commands;
pub mod framing;
pub mod import;
pub mod python;
pub mod scratch;
pub mod server;
pub mod spelling;
pub mod trouble;
pub mod upstream;
pub mod verifying;
