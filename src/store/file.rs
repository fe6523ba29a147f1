//! Reads a recording from disk.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use bytes::Bytes;

use super::error::StoreError;
use crate::recording::{Cassette, Document, FormatError};

/// Recordings above this many bytes are refused.
const SIZE_LIMIT: u64 = 4 * 1024 * 1024 * 1024;

/// Reads a whole recording. Needs no lock: a recording is replaced as a whole.
///
/// # Errors
/// A missing, unreadable, oversized, damaged or newer file, each with its path
/// and what helps.
pub fn load(path: &Path) -> Result<Cassette, StoreError> {
    let paths =
        super::paths::Paths::of(path).map_err(|_| StoreError::Missing { path: path.to_owned() })?;
    let log = File::open(&paths.log).ok();
    let folding = File::open(&paths.folding).ok();
    let mut document = match read(path)? {
        Some((_, text)) => parse(path, text)?,
        None if log.is_none() && folding.is_none() => {
            return Err(StoreError::Missing { path: path.to_owned() });
        }
        None => Document::new(&crate::identity::IdentityRules::default()),
    };
    for file in [folding, log].into_iter().flatten() {
        super::fold::apply(&mut document, &file, path)?;
    }
    document.cassette().map_err(unusable(path))
}

/// The file, open, and its bytes; `None` where there is none.
pub(super) fn read(path: &Path) -> Result<Option<(File, Bytes)>, StoreError> {
    let failed = |source| StoreError::Read { path: path.to_owned(), source };
    // Looked at before it is opened: a pipe would never open.
    let metadata = match std::fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    if !metadata.is_file() {
        return Err(StoreError::NotAFile { path: path.to_owned() });
    }
    let mut file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    let bytes = file.metadata().map_err(failed)?.len();
    if bytes > SIZE_LIMIT {
        return Err(StoreError::TooLarge { path: path.to_owned(), bytes, limit: SIZE_LIMIT });
    }
    let mut text = Vec::with_capacity(usize::try_from(bytes).unwrap_or(0) + 1);
    (&mut file).take(SIZE_LIMIT).read_to_end(&mut text).map_err(failed)?;
    Ok(Some((file, text.into())))
}

/// Splits a recording's text.
pub(super) fn parse(path: &Path, text: Bytes) -> Result<Document, StoreError> {
    Document::parse(text).map_err(unusable(path))
}

/// Names the file that a format error was found in.
pub(super) fn unusable(path: &Path) -> impl Fn(FormatError) -> StoreError {
    move |problem| StoreError::Format { path: path.to_owned(), problem: Box::new(problem) }
}
