//! Files that are written as a whole.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

/// Writes a file beside its place and renames it, so that no reader sees half of it, also after a
/// power cut. Only its owner can read it.
pub(crate) fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    fs::create_dir_all(folder)?;
    let mut file =
        tempfile::Builder::new().prefix(".loomrec-").suffix(".loomrec-tmp").tempfile_in(folder)?;
    file.write_all(bytes)?;
    file.as_file().sync_all()?;
    file.persist(path).map_err(|error| error.error)?;
    Ok(())
}
