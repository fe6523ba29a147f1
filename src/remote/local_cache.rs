//! The cache on this machine: objects, manifests, and the recordings that were composed of them.

mod packs;
mod segments;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use loomrec_os::FileStatus;
use loomrec_store::{LeftoverFile, RecordingLocation, find_leftovers};
use rand::RngExt as _;
use serde::{Deserialize, Serialize};

use super::content_hash::ContentHash;
use super::manifest::StateManifest;
use super::packed_text::{LARGEST_ENTRY, LARGEST_MANIFEST, check_text, pack_text};
use super::remote_error::RemoteError;
use super::whole_file::write_whole;

/// The folder of the cache. It can be deleted at any time.
#[derive(Clone, Debug)]
pub struct LocalCache {
    folder: PathBuf,
    /// The folder of what this machine notes of its cache, which nobody else can write. Without it,
    /// recordings are checked at each start.
    notes: Option<PathBuf>,
}

/// The newest state of a recording that this machine has seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenState {
    /// The hash of its manifest.
    pub manifest: ContentHash,
    /// How long ago it was seen.
    pub age: Duration,
}

#[derive(Serialize, Deserialize)]
struct SeenText {
    url: String,
    manifest: ContentHash,
    /// Seconds since 1970.
    at: u64,
}

impl LocalCache {
    /// Uses a folder, and one for notes. They are created when something is put into them.
    pub fn new(folder: PathBuf, notes: Option<PathBuf>) -> Self {
        Self { folder, notes }
    }

    /// Returns the packed text of an object, if it is there. It has not been checked.
    pub fn unchecked_object(&self, hash: &ContentHash) -> Option<Vec<u8>> {
        loomrec_os::read_input(&self.object_path(hash), LARGEST_ENTRY).ok()
    }

    /// Returns the packed text of an object, if it is there and right. A damaged one is removed.
    pub fn checked_object(&self, hash: &ContentHash) -> Option<Vec<u8>> {
        let packed = self.unchecked_object(hash)?;
        let is_right = check_text(&packed, hash, LARGEST_ENTRY).is_ok();
        if !is_right {
            self.drop_object(hash);
        }
        is_right.then_some(packed)
    }

    /// Whether an object is there. Its bytes are not checked.
    pub fn has_object(&self, hash: &ContentHash) -> bool {
        self.object_path(hash).is_file()
    }

    /// Keeps the object of a text, unless it is there and right.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn keep_text(&self, hash: &ContentHash, text: &[u8]) -> Result<(), RemoteError> {
        if self.checked_object(hash).is_some() {
            return Ok(());
        }
        let packed = pack_text(text).map_err(RemoteError::at_path("a text"))?;
        self.put_object(hash, &packed)
    }

    /// Keeps an object.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn put_object(&self, hash: &ContentHash, packed: &[u8]) -> Result<(), RemoteError> {
        let path = self.object_path(hash);
        write_whole(&path, packed).map_err(RemoteError::at_path(path))
    }

    /// Removes an object that is not what its name says.
    pub fn drop_object(&self, hash: &ContentHash) {
        // If it cannot be removed, the next attempt to use it fails in the same way.
        let _ = fs::remove_file(self.object_path(hash));
    }

    /// Removes a state: its manifest and index, and the recording that was composed of it.
    pub fn drop_state(&self, hash: &ContentHash) {
        self.drop_index(hash);
        // What is not there need not be removed.
        let _ = fs::remove_file(self.manifest_path(hash));
        let _ = fs::remove_file(self.recording_path(hash));
    }

    fn object_path(&self, hash: &ContentHash) -> PathBuf {
        let digits = hash.digits();
        self.folder.join("objects").join(&digits[..2]).join(digits)
    }

    /// Returns the packed text of a manifest, if it is there and right.
    pub fn packed_manifest(&self, hash: &ContentHash) -> Option<Vec<u8>> {
        let packed = loomrec_os::read_input(&self.manifest_path(hash), LARGEST_MANIFEST).ok()?;
        check_text(&packed, hash, LARGEST_MANIFEST).is_ok().then_some(packed)
    }

    /// Returns a manifest, if it is there and right.
    pub fn checked_manifest(&self, hash: &ContentHash) -> Option<StateManifest> {
        StateManifest::from_packed(&self.packed_manifest(hash)?).ok()
    }

    /// Keeps the packed text of a manifest.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn put_manifest(&self, hash: &ContentHash, packed: &[u8]) -> Result<(), RemoteError> {
        let path = self.manifest_path(hash);
        write_whole(&path, packed).map_err(RemoteError::at_path(path))
    }

    fn manifest_path(&self, hash: &ContentHash) -> PathBuf {
        self.folder.join("manifests").join(hash.digits())
    }

    /// Returns the path of the recording of a state, if it is there. It has not been checked.
    ///
    /// # Errors
    /// A log beside it cannot be removed.
    pub fn unchecked_recording(&self, hash: &ContentHash) -> Result<Option<PathBuf>, RemoteError> {
        let path = self.recording_path(hash);
        if !path.is_file() {
            return Ok(None);
        }
        remove_logs(&path)?;
        Ok(Some(path))
    }

    /// Whether the recording of a state is still the file that was noted.
    pub fn is_noted(&self, hash: &ContentHash) -> bool {
        let noted = self.composed_note(hash).and_then(|note| fs::read_to_string(note).ok());
        let version = version_of(&self.recording_path(hash)).ok();
        noted.is_some() && noted == version
    }

    /// Notes that the recording of a state has been composed of its objects, or checked against its
    /// manifest.
    pub fn note_recording(&self, hash: &ContentHash) {
        let version = version_of(&self.recording_path(hash)).ok();
        if let (Some(note), Some(version)) = (self.composed_note(hash), version) {
            // If this fails, the next start checks the recording again.
            let _ = write_whole(&note, version.as_bytes());
        }
    }

    /// Returns the path of the note. It is not in the cache: a cache may come from another machine.
    fn composed_note(&self, hash: &ContentHash) -> Option<PathBuf> {
        self.notes.as_ref().map(|notes| notes.join("composed").join(hash.digits()))
    }

    /// Returns a path to compose the recording of a state at, before [`Self::keep_recording`].
    ///
    /// # Errors
    /// The folder cannot be created.
    pub fn stage_recording(&self, hash: &ContentHash) -> Result<PathBuf, RemoteError> {
        let folder = self.folder.join("recordings");
        fs::create_dir_all(&folder).map_err(RemoteError::at_path(&folder))?;
        let name = format!(".{}.{:016x}.json", hash.digits(), rand::rng().random::<u64>());
        Ok(folder.join(name))
    }

    /// Puts a composed recording in its place, and notes that it is right.
    ///
    /// # Errors
    /// The file cannot be renamed, or a log beside it cannot be removed.
    pub fn keep_recording(
        &self,
        hash: &ContentHash,
        staged: &Path,
    ) -> Result<PathBuf, RemoteError> {
        let path = self.recording_path(hash);
        remove_logs(&path)?;
        fs::rename(staged, &path).map_err(RemoteError::at_path(&path))?;
        self.note_recording(hash);
        Ok(path)
    }

    fn recording_path(&self, hash: &ContentHash) -> PathBuf {
        self.folder.join("recordings").join(format!("{}.json", hash.digits()))
    }

    /// Returns the state that a tag names, if that was looked up before. Tags never move.
    pub fn tagged_state(&self, url: &str, tag: &str) -> Option<ContentHash> {
        self.read_note(&self.note_path("tags", &format!("{url}@{tag}"))).map(|note| note.manifest)
    }

    /// Notes the state that a tag names.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn note_tag(&self, url: &str, tag: &str, state: &ContentHash) -> Result<(), RemoteError> {
        self.write_note(&self.note_path("tags", &format!("{url}@{tag}")), url, state)
    }

    /// Returns the newest state that this machine has seen.
    pub fn seen_state(&self, url: &str) -> Option<SeenState> {
        let note = self.read_note(&self.note_path("refs", url))?;
        let at = SystemTime::UNIX_EPOCH + Duration::from_secs(note.at);
        let age = SystemTime::now().duration_since(at).unwrap_or_default();
        Some(SeenState { manifest: note.manifest, age })
    }

    /// Notes the newest state.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn note_seen(&self, url: &str, state: &ContentHash) -> Result<(), RemoteError> {
        self.write_note(&self.note_path("refs", url), url, state)
    }

    fn note_path(&self, kind: &str, name: &str) -> PathBuf {
        self.folder.join(kind).join(ContentHash::from_bytes(name.as_bytes()).digits())
    }

    fn read_note(&self, path: &Path) -> Option<SeenText> {
        serde_json::from_slice(&fs::read(path).ok()?).ok()
    }

    fn write_note(&self, path: &Path, url: &str, state: &ContentHash) -> Result<(), RemoteError> {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let note = SeenText { url: url.to_owned(), manifest: state.clone(), at: now.as_secs() };
        let text = serde_json::to_vec(&note).map_err(io::Error::other);
        let written = text.and_then(|text| write_whole(path, &text));
        written.map_err(RemoteError::at_path(path))
    }
}

/// Removes logs beside a recording of the cache. Nothing records there, so they are not loomrec's
/// own, and a reader would take their calls for those of the recording.
fn remove_logs(recording: &Path) -> Result<(), RemoteError> {
    for leftover in find_leftovers(&RecordingLocation::from(recording))? {
        if let LeftoverFile::Log { path, .. } = leftover {
            fs::remove_file(&path).map_err(RemoteError::at_path(&path))?;
        }
    }
    Ok(())
}

/// Returns a text that changes when a file is written or replaced: its length, its times and its
/// number in the file system.
fn version_of(path: &Path) -> io::Result<String> {
    let FileStatus { id, length, modified, changed, .. } =
        FileStatus::from_file(&fs::File::open(path)?)?;
    Ok(format!("{length} {modified} {changed} {} {}\n", id.device, id.inode))
}
