//! The SHA-256 of a recording as it is on disk, without its logs.

use std::io::{self, Write};
use std::path::Path;

use sha2::{Digest as _, Sha256};

use super::base::BaseVersion;
use crate::file;
use crate::location::RecordingLocation;
use crate::paths::RecordingPaths;

/// Returns the SHA-256 of a recording's file, in lower-case hex; `None` if there is none.
///
/// For a folder, it is the SHA-256 of the list that `sha256sum *.json` prints there, in the byte
/// order of the names: each line has a hash, two spaces and a name.
pub fn sha256(location: &RecordingLocation) -> Option<String> {
    let paths = RecordingPaths::of(location.as_path()).ok()?;
    let files = match paths.backend.version().ok()? {
        BaseVersion::Nothing => return None,
        BaseVersion::File(_) => return hex(&paths.target),
        BaseVersion::Folder(files) if files.is_empty() => return None,
        BaseVersion::Folder(files) => files,
    };
    let mut hash = Sha256::new();
    for (name, _) in files {
        hash.update(hex(&paths.target.join(&name))?);
        hash.update("  ");
        hash.update(name.as_encoded_bytes());
        hash.update("\n");
    }
    Some(text(hash))
}

fn hex(path: &Path) -> Option<String> {
    let mut hash = Sha256::new();
    let mut file = file::open(path).ok()??;
    io::copy(&mut file, &mut Hasher(&mut hash)).ok()?;
    Some(text(hash))
}

fn text(hash: Sha256) -> String {
    hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A writer that feeds bytes to a hash.
struct Hasher<'a>(&'a mut Sha256);

impl Write for Hasher<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
