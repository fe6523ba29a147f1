//! A recording as its readers see it: the file, and what recorders have stored beside it.
//!
//! [`Recording::entries`] returns one entry after the other, in the file's order;
//! [`Recording::read_entry`] reads one again by its [`TakeRef`]. An open recording stays as it was when
//! it was opened, even if the file is replaced.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use super::disk::Disk;
use super::error::StoreError;
use super::file_version::FileVersion;
use super::leftover;
use super::location::RecordingLocation;
use super::merge::EntryOrigin;
pub use super::merge::TakeRef;
use super::paths::RecordingPaths;
use super::read_buffer::ReadBuffer;
use super::run;
use super::snapshot::RecordingSnapshot;
use super::store_event::StoreEvent;
use loomrec_recording::outline::RecordingOutline;
use loomrec_recording::{Entry, EntryName, RecordingDocument, RecordingMeta};

/// A recording, open for reading.
#[derive(Debug)]
pub struct Recording {
    source: RecordingSnapshot,
    notes: Vec<StoreEvent>,
    /// The version of the file that was opened; `None` if there was only a log.
    opened: Option<FileVersion>,
}

/// One entry of a recording, and its place.
#[derive(Clone, Debug)]
pub struct StoredEntry {
    /// The name that it is stored under.
    pub name: EntryName,
    /// The number of the take under that name, from 1.
    pub take: usize,
    /// The entry.
    pub entry: Entry,
    /// The place to read it again from.
    pub place: TakeRef,
}

/// Reads a whole recording.
///
/// # Errors
/// As [`Recording::open`] and [`Recording::entries`].
pub fn load_recording(
    location: impl Into<RecordingLocation>,
) -> Result<RecordingDocument, StoreError> {
    let recording = Recording::open(location)?;
    let mut cassette = RecordingDocument::new(recording.meta().clone());
    for stored in recording.entries() {
        let stored = stored?;
        cassette.push(stored.name, stored.entry);
    }
    Ok(cassette)
}

impl Recording {
    /// Opens a recording for reading, including what has not reached its file yet. Nothing is
    /// created or changed. [`Recording::opening_events`] reports a log that a recorder which has ended left.
    ///
    /// # Errors
    /// A file is missing, unreadable, too large, damaged or of a newer format. The error says
    /// which, and what helps.
    pub fn open(location: impl Into<RecordingLocation>) -> Result<Self, StoreError> {
        let location = location.into();
        let path = location.as_path();
        let paths = paths_of(path)?;
        let mut recording = Self::open_to_inspect(path)?;
        if let Some(log) = run::abandoned_log(&paths)? {
            let (path, entries) = (path.to_owned(), recording.source.logged_count());
            recording.notes.push(StoreEvent::Unmerged { path, log, entries });
        }
        Ok(recording)
    }

    /// Opens a recording to answer from: as [`Recording::open`], but rejects a log that a recorder
    /// left, because nobody has reviewed it.
    ///
    /// # Errors
    /// As [`Recording::open`]; [`StoreError::Unmerged`] for such a log.
    pub fn open_reviewed(location: impl Into<RecordingLocation>) -> Result<Self, StoreError> {
        let location = location.into();
        let path = location.as_path();
        let paths = paths_of(path)?;
        let refuse_log = || match run::abandoned_log(&paths)? {
            Some(log) => Err(StoreError::Unmerged { path: path.to_owned(), log }),
            None => Ok(()),
        };
        // Checked before the recording is read, because reading may take long, and again after
        // that, because a log may have appeared meanwhile.
        refuse_log()?;
        let recording = Self::open_to_inspect(path)?;
        refuse_log()?;
        Ok(recording)
    }

    /// Opens a recording that is to be changed. What ended recorders left in a log is merged into
    /// it first; [`Recording::opening_events`] reports that.
    ///
    /// # Errors
    /// As [`Recording::open`], or a log cannot be merged.
    pub fn open_merged(location: impl Into<RecordingLocation>) -> Result<Self, StoreError> {
        let location = location.into();
        let path = location.as_path();
        let notes = leftover::compact_abandoned(path, &paths_of(path)?, &Disk::real())?;
        Ok(Self { notes, ..Self::open_to_inspect(path)? })
    }

    /// Opens a recording for reading as [`Recording::open`] does, while it may be recorded into.
    /// Its log is not reported.
    ///
    /// # Errors
    /// As [`Recording::open`].
    pub fn open_to_inspect(location: impl Into<RecordingLocation>) -> Result<Self, StoreError> {
        let location = location.into();
        let path = location.as_path();
        let source = RecordingSnapshot::open(path, &paths_of(path)?)?;
        let missing = || StoreError::Missing { path: path.to_owned() };
        let source = source.ok_or_else(missing)?;
        let failed = |source| StoreError::read_failed(path.to_owned(), source);
        let opened = source.file_version().map_err(failed)?;
        Ok(Self { source, notes: Vec::new(), opened })
    }

    /// Returns the events of opening it, and what is beside it, for people.
    pub fn opening_events(&self) -> &[StoreEvent] {
        &self.notes
    }

    /// Returns its metadata.
    pub fn meta(&self) -> &RecordingMeta {
        &self.source.meta
    }

    /// Returns the names that it holds entries of, in the file's order. No entry is read.
    pub fn names(&self) -> impl Iterator<Item = EntryName> {
        let new = self.source.plan.new.iter().map(|(name, _)| name.clone());
        self.source.outline.names().chain(new)
    }

    /// Returns the name of a number, counted in the order of [`Self::names`].
    pub fn name_at(&self, number: u32) -> Option<EntryName> {
        let (outline, number) = (&self.source.outline, number as usize);
        let new = || Some(self.source.plan.new.get(number - outline.count_names())?.0.clone());
        if number < outline.count_names() { outline.name_at(number) } else { new() }
    }

    /// Returns the most takes that there can be, as far as is known without reading them.
    pub fn most_takes(&self) -> usize {
        self.source.outline.most_takes() + self.source.logged_count()
    }

    /// Returns every entry in the file's order, with the takes of a name together. Each entry is
    /// read when it is needed.
    ///
    /// An item is an error if the entry cannot be read or used. It is the last item.
    pub fn entries(&self) -> EntryIter<'_> {
        EntryIter {
            source: &self.source,
            next: 0,
            takes: Vec::new().into_iter(),
            take: 0,
            name: None,
            window: ReadBuffer::default(),
        }
    }

    /// Returns the places of a name's takes, in order; none if it does not hold the name.
    ///
    /// # Errors
    /// A list of takes cannot be read.
    pub fn take_places(&self, name: &EntryName) -> Result<Vec<TakeRef>, StoreError> {
        let source = &self.source;
        if let Some(at) = source.outline.find_name(name) {
            let changed = source.plan.changed.get(&at);
            return changed.map_or_else(|| source.takes_of(at), |takes| Ok(takes.clone()));
        }
        let new = source.plan.new.iter().find(|(new, _)| new == name);
        Ok(new.map(|(_, takes)| takes.clone()).unwrap_or_default())
    }

    /// Returns the recording's name for messages.
    pub(super) fn path(&self) -> &Path {
        self.source.path()
    }

    /// Returns the version of the file that was opened; `None` if there was only a log.
    pub(super) fn opened_version(&self) -> Option<FileVersion> {
        self.opened
    }

    /// Returns its file and outline; `None` if there is more to the recording than that.
    pub(super) fn only_file(&self) -> Option<(&File, &RecordingOutline)> {
        let file = self.source.file().filter(|_| self.source.logged_count() == 0);
        file.map(|file| (file, &self.source.outline))
    }

    /// Returns the size of its own text in bytes.
    pub(super) fn file_size(&self) -> u64 {
        self.source.file_size()
    }

    /// Checks that there is an entry, or a list of entries, wherever there must be one, as far as
    /// is known without reading them.
    ///
    /// # Errors
    /// The first place that has none.
    pub(super) fn check_shapes(&self) -> Result<(), StoreError> {
        let mut names = 0..self.source.outline.count_names();
        names.try_for_each(|name| self.source.takes_of(name).map(drop))
    }

    /// Returns the file that holds an entry, for messages: the recording's own, or a log.
    pub fn file_of(&self, place: &TakeRef) -> PathBuf {
        self.source.file_of(place)
    }

    /// Reads an entry again.
    ///
    /// # Errors
    /// The file cannot be read, or was changed in place since.
    pub fn read_entry(&self, place: &TakeRef) -> Result<Entry, StoreError> {
        self.source.read_entry(place, &mut ReadBuffer::default())
    }
}

/// Returns the paths of a recording's files.
pub(super) fn paths_of(path: &Path) -> Result<RecordingPaths, StoreError> {
    RecordingPaths::from_path(path).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => StoreError::Missing { path: path.to_owned() },
        _ => StoreError::read_failed(path.to_owned(), source),
    })
}

/// The entries of a recording: see [`Recording::entries`].
#[derive(Debug)]
pub struct EntryIter<'a> {
    source: &'a RecordingSnapshot,
    /// The number of the next name: first those of the file, then the new ones.
    next: usize,
    /// The rest of the current name's takes.
    takes: std::vec::IntoIter<TakeRef>,
    /// The number of the take that was returned last.
    take: usize,
    name: Option<EntryName>,
    window: ReadBuffer,
}

impl EntryIter<'_> {
    /// Returns the next name and its takes; `None` after the last.
    fn next_name(&mut self) -> Option<(EntryName, Result<Vec<TakeRef>, StoreError>)> {
        let (source, place) = (self.source, self.next);
        self.next += 1;
        if let Some(name) = source.outline.name_at(place) {
            let takes = match source.plan.changed.get(&place) {
                Some(takes) => Ok(takes.clone()),
                None => source.takes_of(place),
            };
            return Some((name, takes));
        }
        let (name, takes) = source.plan.new.get(place - source.outline.count_names())?;
        Some((name.clone(), Ok(takes.clone())))
    }

    /// Returns the number of the name of the last entry: see [`Recording::name_at`].
    pub fn name_number(&self) -> u32 {
        self.next.saturating_sub(1) as u32
    }

    /// Returns the text of the last entry, whose place this is; `None` if it is not in the file.
    pub fn entry_text(&mut self, place: &TakeRef) -> Option<&[u8]> {
        match place.origin {
            EntryOrigin::File => self.source.read_text(place, &mut self.window).ok(),
            EntryOrigin::Log(_) => None,
        }
    }

    /// Returns the number of takes of the last entry's name.
    pub fn take_count(&self) -> usize {
        self.take + self.takes.len()
    }

    fn end_with_error(&mut self, error: StoreError) -> Option<Result<StoredEntry, StoreError>> {
        self.next = usize::MAX / 2;
        self.takes = Vec::new().into_iter();
        Some(Err(error))
    }
}

impl Iterator for EntryIter<'_> {
    type Item = Result<StoredEntry, StoreError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let (Some(place), Some(name)) = (self.takes.next(), &self.name) else {
                let (name, takes) = self.next_name()?;
                match takes {
                    Ok(takes) => self.takes = takes.into_iter(),
                    Err(error) => return self.end_with_error(error),
                }
                (self.name, self.take) = (Some(name), 0);
                continue;
            };
            self.take += 1;
            return match self.source.read_entry(&place, &mut self.window) {
                Ok(entry) => {
                    Some(Ok(StoredEntry { name: name.clone(), take: self.take, entry, place }))
                }
                Err(error) => self.end_with_error(error),
            };
        }
    }
}
