//! Recordings as the command line names them.

use std::path::PathBuf;

use clap::builder::{PathBufValueParser, TypedValueParser};

use loomrec_store::{RecordingLocation, UrlSchemeError};

/// Why a name is not that of a recording that can be changed.
#[derive(Debug, thiserror::Error)]
enum LocalNameError {
    #[error(transparent)]
    Scheme(#[from] UrlSchemeError),
    #[error(
        "a state of a remote recording never changes: get a file with `loomrec pull {name} -o FILE`, \
         change that, and `loomrec push` it"
    )]
    Remote { name: String },
}

/// Returns the parser of the location of a recording that is read.
pub fn location() -> impl TypedValueParser<Value = RecordingLocation> {
    PathBufValueParser::new().try_map(RecordingLocation::parse)
}

/// Returns the parser of the location of a recording that may be changed: a file of this machine.
pub fn local_location() -> impl TypedValueParser<Value = RecordingLocation> {
    PathBufValueParser::new().try_map(parse_local)
}

fn parse_local(named: PathBuf) -> Result<RecordingLocation, LocalNameError> {
    let location = RecordingLocation::parse(named)?;
    match location.is_remote() {
        true => Err(LocalNameError::Remote { name: location.display().to_string() }),
        false => Ok(location),
    }
}
