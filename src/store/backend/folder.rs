//! The folder back-end: every entry of the top level is in a file of its own.
//!
//! Each file is a small but complete recording with one key. The files are read as one text, in the
//! order of their entries: each comes after the one before, so that one outline says where
//! everything is. No file stays open. A file that was changed since is detected by its stamp.

pub(crate) mod name;
mod part;
pub(crate) mod stage;

use std::collections::{BTreeMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use crate::error::StoreError;
use crate::file;
use crate::file_version::FileVersion;
use crate::read_buffer::FileStretch;
use crate::regular_file;
use crate::temporary_file;
use loomrec_recording::outline::RecordingOutline;
use loomrec_recording::{EntryName, RecordingMeta};
use part::FolderFile;

/// How often a folder is read again whose files others are changing.
const TRIES: u32 = 50;

/// The pause before that, multiplied by the number of tries.
const PAUSE: Duration = Duration::from_millis(1);

/// A recording's folder, as it was when it was read.
#[derive(Clone, Debug)]
pub(crate) struct FolderSnapshot {
    /// Its name in messages.
    folder: PathBuf,
    /// One for each member of the outline, in the order in which they are read as one text.
    pieces: Vec<StampedFile>,
    outline: Option<RecordingOutline>,
}

/// One of its files.
#[derive(Clone, Debug)]
struct StampedFile {
    file: OsString,
    stamp: FileVersion,
    /// The place of its first byte.
    from: u64,
}

/// Returns the files of entries in a folder, by name; none if the folder does not exist.
///
/// # Errors
/// The folder cannot be read, or something that is not a file has the name of an entry's file.
pub(crate) fn list(folder: &Path) -> Result<Vec<(OsString, FileVersion)>, StoreError> {
    let failed = |source| StoreError::read(folder.to_owned(), source);
    let found = match fs::read_dir(folder) {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed(error)),
    };
    let mut files = Vec::new();
    for entry in found {
        let name = entry.map_err(failed)?.file_name();
        if !is_entry(&name) {
            continue;
        }
        let path = folder.join(&name);
        match regular_file::look_at(&path) {
            Ok(Some(status)) => files.push((name, FileVersion::from_status(&status))),
            // It was removed meanwhile.
            Ok(None) => {}
            Err(source) => return Err(file::not_a_part(&path, source)),
        }
    }
    files.sort_unstable();
    Ok(files)
}

/// Returns the names in a folder that have the form of entries' files, sorted.
///
/// # Errors
/// The folder cannot be read.
pub(crate) fn names(folder: &Path) -> io::Result<Vec<OsString>> {
    let mut names = Vec::new();
    match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(names),
        found => {
            for entry in found? {
                names.push(entry?.file_name());
            }
        }
    }
    names.retain(|name| is_entry(name));
    names.sort_unstable();
    Ok(names)
}

/// Whether a file in a recording's folder has the name of an entry's file.
fn is_entry(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    name.ends_with(b".json") && !name.starts_with(b".")
}

/// Whether a folder holds anything whose name does not begin with a dot.
pub(crate) fn holds_files(folder: &Path) -> bool {
    let is_visible = |name: OsString| !name.as_encoded_bytes().starts_with(b".");
    let found = fs::read_dir(folder);
    found.is_ok_and(|found| found.flatten().any(|entry| is_visible(entry.file_name())))
}

/// Whether a folder holds a file that is named after the entry in it, as those of recordings are.
pub(crate) fn holds_recording(folder: &Path) -> bool {
    let names = names(folder).unwrap_or_default();
    let is_of_entry = |name: &OsString| {
        let file = name.to_str().and_then(|name| name.strip_suffix(".json"));
        let is_of_hash = file.is_some_and(|key| EntryName::of_key(key).0.step_id().is_none());
        let outline = |path: &Path| crate::index::read(path, &file::open_part(path).ok()??).ok();
        is_of_hash
            || outline(&folder.join(name)).is_some_and(|outline| {
                let mut entries = outline.names();
                let key = entries.next().map(|entry| entry.take_key(1));
                entries.next().is_none() && key.is_some_and(|key| name::fits(name, &key))
            })
    };
    names.iter().any(is_of_entry)
}

/// Removes the temporary files in a folder whose names end with `ending`.
pub(crate) fn sweep(folder: &Path, ending: &str) -> io::Result<()> {
    let found = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        found => found?,
    };
    for entry in found {
        let entry = entry?;
        let name = entry.file_name();
        let ours = name.as_encoded_bytes().starts_with(b".")
            && name.as_encoded_bytes().ends_with(ending.as_bytes());
        if ours {
            regular_file::remove_temporary(&entry.path())?;
        }
    }
    Ok(())
}

/// Removes everything that a killed process left in a folder.
pub(crate) fn sweep_all(folder: &Path) -> io::Result<()> {
    sweep(folder, temporary_file::SUFFIX)
}

impl FolderSnapshot {
    /// Reads the outlines of all files. A folder that others change meanwhile is read again until
    /// all of it was seen at one moment.
    ///
    /// # Errors
    /// A file cannot be read or does not hold one entry, two hold the same one, or files were made
    /// under different rules.
    pub(crate) fn open(folder: &Path) -> Result<Self, StoreError> {
        Self::open_with(folder, || {})
    }

    /// The same. `between` is called when the files are listed and not yet read.
    fn open_with(folder: &Path, mut between: impl FnMut()) -> Result<Self, StoreError> {
        let mut known: BTreeMap<OsString, FolderFile> = BTreeMap::new();
        for tries in 0..TRIES {
            // Changes by others are soon over.
            thread::sleep(PAUSE * tries.saturating_sub(2));
            let mut same = BTreeMap::new();
            let mut unread = Vec::new();
            for (name, stamp) in list(folder)? {
                match known.remove(&name) {
                    Some(part) if part.stamp == stamp => {
                        same.insert(name, part);
                    }
                    _ => unread.push(name),
                }
            }
            known = same;
            if unread.is_empty() {
                return Self::joined(folder, known);
            }
            between();
            for (name, read) in part::read_all(folder, unread)? {
                known.insert(name, read);
            }
        }
        let source = io::Error::other("others change its files again and again");
        Err(StoreError::read(folder.to_owned(), source))
    }

    fn joined(folder: &Path, parts: BTreeMap<OsString, FolderFile>) -> Result<Self, StoreError> {
        let mut split = Self { folder: folder.to_owned(), pieces: Vec::new(), outline: None };
        let Some(meta) = part::common_meta(folder, &parts)? else { return Ok(split) };
        let mut from = 0;
        let mut outlines = Vec::with_capacity(parts.len());
        for (file, FolderFile { stamp, outline, .. }) in part::in_order(folder, parts)? {
            outlines.push((from, outline));
            split.pieces.push(StampedFile { file, stamp, from });
            from += stamp.length;
        }
        split.outline = Some(RecordingOutline::joined(meta, outlines));
        Ok(split)
    }

    /// Returns the outline of the files, read as one text; `None` if there are none.
    pub(crate) fn take_outline(&mut self) -> Option<RecordingOutline> {
        self.outline.take()
    }

    /// Returns the files, to be compared later.
    pub(crate) fn state(&self) -> Vec<(OsString, FileVersion)> {
        let files = self.pieces.iter().map(|piece| (piece.file.clone(), piece.stamp));
        let mut files: Vec<_> = files.collect();
        files.sort_unstable();
        files
    }

    /// Returns the size of the files in bytes.
    pub(crate) fn size(&self) -> u64 {
        self.pieces.iter().map(|piece| piece.stamp.length).sum()
    }

    /// Returns the name of the file that holds a member of the outline.
    pub(crate) fn file_of(&self, member: usize) -> Option<&OsStr> {
        self.pieces.get(member).map(|piece| piece.file.as_os_str())
    }

    /// Returns the file that holds a place, for messages.
    pub(crate) fn path_at(&self, at: u64) -> PathBuf {
        self.piece_at(at).map_or_else(|| self.folder.clone(), |piece| self.folder.join(&piece.file))
    }

    /// Opens the file that holds a place, and returns its range in the text.
    ///
    /// # Errors
    /// The file cannot be read; [`StoreError::Moved`] if it is not the one that was read.
    pub(crate) fn file_at(&self, at: u64) -> Result<(File, FileStretch), StoreError> {
        let path = self.path_at(at);
        let moved = || StoreError::Moved { path: path.clone() };
        let piece = self.piece_at(at).ok_or_else(moved)?;
        let file = file::open_part(&path)?.ok_or_else(moved)?;
        let failed = |source| StoreError::read(path.clone(), source);
        if FileVersion::of(&file).map_err(failed)? != piece.stamp {
            return Err(moved());
        }
        let to = piece.from + piece.stamp.length;
        Ok((file, FileStretch { from: piece.from, to }))
    }

    /// Returns the metadata in the file of a member.
    ///
    /// # Errors
    /// As for [`Self::file_at`].
    pub(crate) fn meta_of(&self, member: usize) -> Result<RecordingMeta, StoreError> {
        let at = self.pieces.get(member).map_or(u64::MAX, |piece| piece.from);
        let (file, _) = self.file_at(at)?;
        let outline = crate::index::read(&self.path_at(at), &file)?;
        Ok(outline.meta().clone())
    }

    /// Returns the files whose names do not match their keys, and the name that each should have.
    pub(crate) fn misnamed(&self, outline: &RecordingOutline) -> Vec<(OsString, String)> {
        let files = self.pieces.iter().map(|piece| piece.file.to_ascii_lowercase());
        let mut taken: HashSet<OsString> = files.collect();
        let pieces = self.pieces.iter().zip(outline.members());
        let keys = pieces.map(|(piece, member)| (&piece.file, outline.key(&member)));
        let found = keys.filter(|(file, key)| !name::fits(file, key));
        let rename = |(file, key): (&OsString, String)| {
            // Only the case of its name may be wrong.
            taken.remove(&file.to_ascii_lowercase());
            (file.clone(), name::free(&key, &mut taken))
        };
        found.map(rename).collect()
    }

    fn piece_at(&self, at: u64) -> Option<&StampedFile> {
        let behind = self.pieces.partition_point(|piece| piece.from <= at);
        self.pieces.get(behind.checked_sub(1)?)
    }
}

#[cfg(test)]
#[path = "folder_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "folder_live_tests.rs"]
mod live_tests;
