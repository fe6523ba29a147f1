//! The SHA-256 of a recording's file, without its logs.

use std::io::{self, Write};

use sha2::{Digest as _, Sha256};

use super::file;
use super::location::RecordingLocation;
use super::paths::RecordingPaths;

/// Returns the SHA-256 of a recording's file as lower-case hex, or `None` if there is no file.
pub fn file_digest(location: &RecordingLocation) -> Option<String> {
    let paths = RecordingPaths::from_path(location.as_path()).ok()?;
    let mut file = file::open_if_there(&paths.target).ok()??;
    let mut hash = Sha256::new();
    io::copy(&mut file, &mut HashingWriter(&mut hash)).ok()?;
    Some(hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect())
}

/// A writer that feeds bytes to a hash.
struct HashingWriter<'a>(&'a mut Sha256);

impl Write for HashingWriter<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
