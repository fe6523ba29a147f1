//! The open files that a recording is read from: the recording itself, and the logs beside it.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use super::error::StoreError;
use super::file;
use super::file_version::FileVersion;
use super::index;
use super::log::{self, FramePlace, LogContents};
use super::memory_guard::{TO_READ, has_room};
use super::merge::{EntryOrigin, LogFrame, LogMerge, TakeRef, plan_merge};
use super::paths::RecordingPaths;
use super::read_buffer::ReadBuffer;
use super::regular_file;
use loomrec_identity::IdentityRules;
use loomrec_os::FileId;
use loomrec_recording::entry::EntryReadError;
use loomrec_recording::log_codec::{self, PackedError, PackedHead};
use loomrec_recording::outline::RecordingOutline;
use loomrec_recording::{Entry, KeyVariables, RecordingMeta};

/// Enough of a packed entry for its name and time, in nearly all cases.
const GLANCE: u32 = 640;

/// How often a recording is opened again if its log was compacted meanwhile.
const TRIES: usize = 100;

/// An open recording with its logs, and how they are merged.
#[derive(Debug)]
pub(super) struct RecordingSnapshot {
    /// The recording's name in messages.
    path: PathBuf,
    /// The recording without its logs; `None` if there is nothing yet.
    file: Option<File>,
    pub(super) outline: RecordingOutline,
    /// The metadata of the recording, with what its logs add to it.
    pub(super) meta: RecordingMeta,
    logs: Vec<OpenedLog>,
    pub(super) plan: LogMerge,
}

/// The open files of a recording, before they are read.
struct OpenFiles {
    file: Option<File>,
    /// The older log is first.
    logs: Vec<(PathBuf, File, FileId)>,
}

#[derive(Debug)]
struct OpenedLog {
    path: PathBuf,
    file: File,
    scanned: LogContents,
}

impl RecordingSnapshot {
    /// Opens a recording and its logs. Returns `None` if none of them exists. An entry in a log
    /// that cannot be read is skipped, like one that was not finished: a compaction sets it aside.
    ///
    /// # Errors
    /// A file cannot be read or used.
    pub(super) fn open(path: &Path, paths: &RecordingPaths) -> Result<Option<Self>, StoreError> {
        Self::open_with(path, paths, || {})
    }

    /// The same. `between` is called wherever another process may come between two steps.
    fn open_with(
        path: &Path,
        paths: &RecordingPaths,
        mut between: impl FnMut(),
    ) -> Result<Option<Self>, StoreError> {
        for _ in 0..TRIES {
            let files = OpenFiles::open(path, paths, &mut between)?;
            let Some(OpenFiles { file, logs }) = files else { continue };
            let logs = logs.into_iter().map(|(path, file, _)| OpenedLog::scan(&path, file));
            return Self::from_files(path, file, logs.collect::<Result<_, _>>()?, false);
        }
        let detail = io::Error::other("its log is compacted again and again");
        Err(StoreError::read_failed(path.to_owned(), detail))
    }

    /// Opens a recording and the one log that is being compacted into it, without the entries that
    /// were set aside.
    ///
    /// # Errors
    /// A file cannot be read or used; [`StoreError::Log`] if the log holds an entry that cannot be
    /// read.
    pub(super) fn for_compaction(
        paths: &RecordingPaths,
        log: &File,
        aside: &[FramePlace],
    ) -> Result<Option<Self>, StoreError> {
        let failed = |source| StoreError::read_failed(paths.folding.clone(), source);
        let mut log = OpenedLog::scan(&paths.folding, log.try_clone().map_err(failed)?)?;
        log.scanned.frames.retain(|frame| !aside.contains(frame));
        Self::from_files(&paths.target, file::open_if_there(&paths.target)?, vec![log], true)
    }

    fn from_files(
        path: &Path,
        file: Option<File>,
        logs: Vec<OpenedLog>,
        strict: bool,
    ) -> Result<Option<Self>, StoreError> {
        let is_empty = |log: &OpenedLog| log.scanned.frames.is_empty();
        let outline = match &file {
            Some(file) => index::read_outline(path, file)?,
            None if logs.iter().all(is_empty) => return Ok(None),
            None => {
                let rules = logs.iter().find_map(|log| log.scanned.rules.clone());
                RecordingOutline::empty(RecordingMeta::new(&rules.unwrap_or_default()))
            }
        };
        let mut meta = outline.meta().clone();
        logs.iter().for_each(|log| meta.add_key_variables(&log.scanned.key_variables));
        let path = path.to_owned();
        let mut source = Self { path, file, outline, meta, logs, plan: LogMerge::default() };
        let frames = source.read_frames(strict)?;
        source.plan = plan_merge(
            &source.outline,
            frames,
            |name| source.takes_of(name),
            |place| source.read_entry(place, &mut ReadBuffer::default()),
        )?;
        Ok(Some(source))
    }

    /// Returns a recording that is being rewritten: its file, and the entries that are new to it.
    pub(super) fn for_rewrite(
        path: &Path,
        file: Option<File>,
        outline: RecordingOutline,
        new: File,
        plan: LogMerge,
    ) -> Self {
        let spool = OpenedLog { path: path.to_owned(), file: new, scanned: LogContents::default() };
        let meta = outline.meta().clone();
        Self { path: path.to_owned(), file, outline, meta, logs: vec![spool], plan }
    }

    /// Returns the recording's name in messages.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the recording's file, without its logs; `None` if there is nothing yet.
    pub(super) fn file(&self) -> Option<&File> {
        self.file.as_ref()
    }

    /// Returns the version of the file; `None` if there is nothing yet.
    ///
    /// # Errors
    /// The status of the file cannot be read.
    pub(super) fn file_version(&self) -> io::Result<Option<FileVersion>> {
        self.file.as_ref().map(FileVersion::from_file).transpose()
    }

    /// Returns the size of the file in bytes.
    pub(super) fn file_size(&self) -> u64 {
        let metadata = self.file.as_ref().and_then(|file| file.metadata().ok());
        metadata.map_or(0, |metadata| metadata.len())
    }

    /// Returns the rules that the logs' entries were recorded under, if they state them.
    pub(super) fn log_rules(&self) -> Option<&IdentityRules> {
        self.logs.iter().find_map(|log| log.scanned.rules.as_ref())
    }

    /// Returns the key variables that the logs state.
    pub(super) fn logged_key_variables(&self) -> KeyVariables {
        let mut all = KeyVariables::default();
        self.logs.iter().for_each(|log| all.add(&log.scanned.key_variables));
        all
    }

    /// Returns the number of entries in the logs.
    pub(super) fn logged_count(&self) -> usize {
        self.logs.iter().map(|log| log.scanned.frames.len()).sum()
    }

    fn read_frames(&self, strict: bool) -> Result<Vec<LogFrame>, StoreError> {
        let mut frames = Vec::with_capacity(self.logged_count());
        for (number, log) in self.logs.iter().enumerate() {
            let mut window = ReadBuffer::default();
            for frame in &log.scanned.frames {
                let (at, length) = (frame.at, u64::from(frame.len));
                let place = TakeRef { origin: EntryOrigin::Log(number), at, length };
                match self.read_head(&place, &mut window) {
                    Ok(head) => frames.push(LogFrame { head, place }),
                    Err(StoreError::Log { .. }) if !strict => {}
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(frames)
    }

    fn read_head(
        &self,
        place: &TakeRef,
        window: &mut ReadBuffer,
    ) -> Result<PackedHead, StoreError> {
        let glance = TakeRef { length: place.length.min(GLANCE.into()), ..*place };
        if let Ok(head) = log_codec::read_head(self.read_text(&glance, window)?) {
            return Ok(head);
        }
        log_codec::read_head(self.read_text(place, window)?)
            .map_err(|problem| self.damage_error(place, problem))
    }

    /// Returns the places of a name's takes in the file, by its number in the outline.
    ///
    /// # Errors
    /// A member is not an entry and not a list of entries.
    pub(super) fn takes_of(&self, name: usize) -> Result<Vec<TakeRef>, StoreError> {
        let members = self.outline.members_of(name);
        let mut places = Vec::with_capacity(members.len());
        for member in members.iter().filter_map(|&at| self.outline.nth_member(at as usize)) {
            let Some(takes) = self.outline.take_ranges(&member) else {
                let value = TakeRef::in_file(&member.value);
                let mut window = ReadBuffer::default();
                let text = self.read_text(&value, &mut window)?;
                return Err(self.not_json(self.outline.not_entry(&member, text)));
            };
            places.extend(takes.map(|take| TakeRef::in_file(&take)));
        }
        Ok(places)
    }

    /// Reads an entry. Neighbouring entries are best read through one window.
    ///
    /// # Errors
    /// A file cannot be read, or holds no entry there.
    pub(super) fn read_entry(
        &self,
        place: &TakeRef,
        window: &mut ReadBuffer,
    ) -> Result<Entry, StoreError> {
        let text = self.read_text(place, window)?;
        if !has_room(text.len(), TO_READ) {
            return Err(StoreError::TooHeavyToRead {
                path: self.file_of(place),
                bytes: place.length,
            });
        }
        match place.origin {
            EntryOrigin::File => Entry::from_text(text).map_err(|why| {
                let range = place.at..place.at + place.length;
                match why {
                    EntryReadError::Json(error) => {
                        self.not_json(self.outline.bad_json(&range, &error))
                    }
                    EntryReadError::Entry(problem) => {
                        index::unusable_file(&self.path, self.outline.bad_entry(&range, problem))
                    }
                }
            }),
            EntryOrigin::Log(_) => log_codec::unpack_entry(text)
                .map(|(_, entry)| entry)
                .map_err(|problem| self.damage_error(place, problem)),
        }
    }

    /// Returns the bytes at a place.
    ///
    /// # Errors
    /// A file cannot be read, or is shorter than it was.
    pub(super) fn read_text<'a>(
        &self,
        place: &TakeRef,
        window: &'a mut ReadBuffer,
    ) -> Result<&'a [u8], StoreError> {
        let (path, file) = match place.origin {
            EntryOrigin::File => (&self.path, self.file.as_ref()),
            EntryOrigin::Log(number) => match self.logs.get(number) {
                Some(log) => (&log.path, Some(&log.file)),
                None => (&self.path, None),
            },
        };
        window.read_place(file, place).map_err(|source| StoreError::read_failed(path, source))
    }

    /// Returns the file that holds an entry, for messages: the recording's own, or a log.
    pub(super) fn file_of(&self, place: &TakeRef) -> PathBuf {
        let log = match place.origin {
            EntryOrigin::File => None,
            EntryOrigin::Log(number) => self.logs.get(number),
        };
        log.map_or_else(|| self.path.clone(), |log| log.path.clone())
    }

    /// Returns an error in the file's text. If that is not JSON, the error names the first place
    /// where it is not.
    fn not_json(&self, error: loomrec_recording::FormatError) -> StoreError {
        let found = self.file.as_ref().and_then(|file| index::find_problem(file).ok().flatten());
        index::unusable_file(&self.path, found.unwrap_or(error))
    }

    fn damage_error(&self, place: &TakeRef, problem: PackedError) -> StoreError {
        StoreError::Log { path: self.file_of(place), problem }
    }
}

impl TakeRef {
    pub(super) fn in_file(range: &std::ops::Range<u64>) -> Self {
        Self { origin: EntryOrigin::File, at: range.start, length: range.end - range.start }
    }
}

impl OpenFiles {
    /// Opens the log, the log under compaction and the file, in that order, so that nothing that
    /// moves meanwhile is missed. Returns `None` if it has moved too far: if the newest open log
    /// was compacted before the file was opened, the file could hold entries that were recorded
    /// after it, and the older entries would be put over them.
    fn open(
        path: &Path,
        paths: &RecordingPaths,
        between: &mut impl FnMut(),
    ) -> Result<Option<Self>, StoreError> {
        let newer = open_log(&paths.log)?;
        between();
        let older = open_log(&paths.folding)?;
        between();
        let file = file::open_if_there(path)?;
        between();
        let mut logs: Vec<_> = older.into_iter().collect();
        // It may have been moved between the two.
        let moved = |log: &(_, _, FileId)| logs.first().is_some_and(|older| older.2 == log.2);
        logs.extend(newer.filter(|log| !moved(log)).into_iter().collect::<Vec<_>>());
        let is_at = |at: &Path, id: FileId| {
            let failed = |source| StoreError::read_failed(at.to_owned(), source);
            FileId::at_path(at).map(|there| there == Some(id)).map_err(failed)
        };
        let current = match logs.last() {
            // In the order in which a log moves.
            Some(&(_, _, id)) => is_at(&paths.log, id)? || is_at(&paths.folding, id)?,
            None => true,
        };
        Ok(current.then_some(Self { file, logs }))
    }
}

fn open_log(path: &Path) -> Result<Option<(PathBuf, File, FileId)>, StoreError> {
    let failed = |source| StoreError::read_failed(path.to_owned(), source);
    let Some(file) = regular_file::open_to_read(path).map_err(failed)? else { return Ok(None) };
    let id = FileId::from_file(&file).map_err(failed)?;
    Ok(Some((path.to_owned(), file, id)))
}

impl OpenedLog {
    fn scan(path: &Path, file: File) -> Result<Self, StoreError> {
        let failed = |source| StoreError::read_failed(path.to_owned(), source);
        let scanned = log::scan_frames(&file).map_err(failed)?;
        if scanned.newer {
            return Err(StoreError::NewerLog { path: path.to_owned() });
        }
        Ok(Self { path: path.to_owned(), file, scanned })
    }
}

#[cfg(test)]
#[path = "snapshot_tests.rs"]
mod tests;
