//! The pointer files of a checkout.

use std::fs;
use std::path::{Path, PathBuf};

use super::address::RemoteAddress;
use super::content_hash::ContentHash;
use super::pointer::PointerFile;
use super::remote_error::RemoteError;

/// Returns the pointer files below a folder that name a recording, each with its state. Links and
/// `.git` are left out.
///
/// # Errors
/// A folder cannot be read, or a pointer file cannot be used.
pub fn find_pointers(
    folder: &Path,
    address: &RemoteAddress,
) -> Result<Vec<(PathBuf, ContentHash)>, RemoteError> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).map_err(RemoteError::at_path(&folder))? {
            let entry = entry.map_err(RemoteError::at_path(&folder))?;
            let (path, kind) =
                (entry.path(), entry.file_type().map_err(RemoteError::at_path(&folder))?);
            if kind.is_dir() && entry.file_name() != ".git" {
                folders.push(path);
            } else if kind.is_file() && PointerFile::is_at(&path) {
                let pointer = PointerFile::read(&path)?;
                if pointer.address == *address {
                    found.push((path, pointer.manifest));
                }
            }
        }
    }
    found.sort();
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointers_of_the_recording_are_found_below_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        let address = |name: &str| RemoteAddress::parse(&format!("s3://bucket/{name}")).unwrap();
        for (path, name) in [
            ("a.remote.json", "agent"),
            ("tests/deep/b.remote.json", "agent"),
            ("tests/other.remote.json", "other"),
            (".git/c.remote.json", "agent"),
        ] {
            let path = folder.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            let manifest = ContentHash::from_bytes(path.file_name().unwrap().as_encoded_bytes());
            let pointer = PointerFile { address: address(name), manifest, takes: 1, bytes: 2 };
            pointer.write(&path).unwrap();
        }
        fs::write(folder.path().join("notes.json"), "no pointer").unwrap();
        let found = find_pointers(folder.path(), &address("agent")).unwrap();
        let expected = ["a.remote.json", "tests/deep/b.remote.json"].map(|path| {
            let path = folder.path().join(path);
            let state = ContentHash::from_bytes(path.file_name().unwrap().as_encoded_bytes());
            (path, state)
        });
        assert_eq!(found, expected);
        fs::write(folder.path().join("bad.remote.json"), "{").unwrap();
        let error = find_pointers(folder.path(), &address("agent")).unwrap_err().to_string();
        assert!(error.contains("bad.remote.json"), "{error}");
        assert!(find_pointers(&folder.path().join("none"), &address("agent")).is_err());
    }
}
