//! Recordings as they are named on the command line.

use clap::builder::{PathBufValueParser, TypedValueParser};

use crate::store::RecordingLocation;

/// Reads the location of a recording.
pub fn location() -> impl TypedValueParser<Value = RecordingLocation> {
    PathBufValueParser::new().try_map(RecordingLocation::parse)
}
