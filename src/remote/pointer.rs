//! Pointer files: a state of a remote recording, named in a file that is kept in git.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use loomrec_store::POINTER_SUFFIX;
use serde::{Deserialize, Serialize};

use super::address::RemoteAddress;
use super::content_hash::ContentHash;
use super::remote_error::RemoteError;
use super::whole_file::write_whole;

/// The format that this version writes and reads.
const FORMAT: &str = "loomrec-pointer/1";

/// The most bytes that a pointer file can have.
const LARGEST: u64 = 64 << 10;

/// The contents of a pointer file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PointerFile {
    /// Where the recording is.
    pub address: RemoteAddress,
    /// The state.
    pub manifest: ContentHash,
    /// How many takes that state has, for people.
    pub takes: u64,
    /// How many bytes its entries have, for people.
    pub bytes: u64,
}

/// The file as it is written.
#[derive(Serialize, Deserialize)]
struct PointerText {
    format: String,
    url: String,
    manifest: ContentHash,
    takes: u64,
    bytes: u64,
}

impl PointerFile {
    /// Whether a path is that of a pointer file: its name ends in `.remote.json`.
    pub fn is_at(path: &Path) -> bool {
        path.as_os_str().as_encoded_bytes().ends_with(POINTER_SUFFIX.as_bytes())
    }

    /// Returns the path of the pointer file beside a recording.
    pub fn path_beside(recording: &Path) -> PathBuf {
        let plain: PathBuf = recording.components().collect();
        let stem = plain.file_stem().unwrap_or_default();
        let stem = match plain.extension().is_some_and(|end| end == "json") {
            true => stem,
            false => plain.file_name().unwrap_or_default(),
        };
        let mut name = stem.to_owned();
        name.push(POINTER_SUFFIX);
        plain.with_file_name(name)
    }

    /// Reads a pointer file.
    ///
    /// # Errors
    /// The file cannot be read, or is no pointer file of this format.
    pub fn read(path: &Path) -> Result<Self, RemoteError> {
        let failed = |problem: String| RemoteError::Pointer { path: path.to_owned(), problem };
        let text =
            loomrec_os::read_input(path, LARGEST).map_err(|error| failed(error.to_string()))?;
        let pointer: PointerText =
            serde_json::from_slice(&text).map_err(|error| failed(error.to_string()))?;
        if pointer.format != FORMAT {
            let found = &pointer.format;
            return Err(failed(format!("its format is {found:?}; this version reads {FORMAT:?}")));
        }
        let address =
            RemoteAddress::parse(&pointer.url).map_err(|error| failed(error.to_string()))?;
        let PointerText { manifest, takes, bytes, .. } = pointer;
        Ok(Self { address, manifest, takes, bytes })
    }

    /// Writes a pointer file, in place of one that is there.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), RemoteError> {
        let text = PointerText {
            format: FORMAT.to_owned(),
            url: self.address.to_string(),
            manifest: self.manifest.clone(),
            takes: self.takes,
            bytes: self.bytes,
        };
        let failed = |source: io::Error| RemoteError::LocalFile { path: path.to_owned(), source };
        let mut text =
            serde_json::to_vec_pretty(&text).map_err(|error| failed(io::Error::other(error)))?;
        text.push(b'\n');
        write_whole(path, &text).map_err(&failed)?;
        // It is for everyone who has the project.
        fs::File::open(path).and_then(|file| loomrec_os::set_mode(&file, 0o644)).map_err(failed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointer_is_read_as_it_is_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = PointerFile::path_beside(&folder.path().join("agent.json"));
        assert!(PointerFile::is_at(&path) && path.ends_with("agent.remote.json"));
        let pointer = PointerFile {
            address: RemoteAddress::parse("s3://bucket/agent").unwrap(),
            manifest: ContentHash::from_bytes(b"x"),
            takes: 3,
            bytes: 4,
        };
        pointer.write(&path).unwrap();
        assert_eq!(PointerFile::read(&path).unwrap(), pointer);
        let text = fs::read_to_string(&path).unwrap();
        for (from, to) in [
            ("pointer/1", "pointer/2"),
            ("s3://", "file://"),
            ("sha256:", "sha1:"),
            ("\"takes\": 3", "\"takes\": -1"),
            ("{", "["),
        ] {
            fs::write(&path, text.replace(from, to)).unwrap();
            let error = PointerFile::read(&path).unwrap_err().to_string();
            assert!(error.contains("agent.remote.json"), "{error}");
        }
    }

    #[test]
    fn pointer_of_a_folder_is_beside_it() {
        for (recording, pointer) in [
            ("r/agent", "r/agent.remote.json"),
            ("r/agent/", "r/agent.remote.json"),
            ("r/a.b", "r/a.b.remote.json"),
            ("a.json", "a.remote.json"),
        ] {
            assert_eq!(PointerFile::path_beside(Path::new(recording)), Path::new(pointer));
        }
    }
}
