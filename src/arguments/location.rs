//! Recordings as the command line names them.

use clap::builder::{PathBufValueParser, TypedValueParser};

use loomrec_store::RecordingLocation;

/// Returns the parser of a recording's location.
pub fn location() -> impl TypedValueParser<Value = RecordingLocation> {
    PathBufValueParser::new().try_map(RecordingLocation::parse)
}
