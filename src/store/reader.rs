//! A recording as its readers see it: the file, and what recorders have kept
//! beside it.
//!
//! [`Recording::entries`] gives one entry after the other, in the file's order;
//! [`Recording::entry`] reads one again by its [`TakeRef`]. A recording that is
//! open stays as it was when it was opened, whoever replaces the file since.

use std::io;
use std::path::{Path, PathBuf};

use super::backend::base::{BaseSnapshot, BaseVersion};
use super::disk::Disk;
use super::error::StoreError;
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
    /// The version that was opened.
    opened: BaseVersion,
}

/// One entry of a recording, and where it stands.
#[derive(Clone, Debug)]
pub struct StoredEntry {
    /// What it is kept under.
    pub name: EntryName,
    /// Which take of that name, counted from 1.
    pub take: usize,
    /// The entry.
    pub entry: Entry,
    /// For reading it again.
    pub place: TakeRef,
}

/// Reads a whole recording.
///
/// # Errors
/// As [`Recording::open`] and [`Recording::entries`].
pub fn load(location: impl Into<RecordingLocation>) -> Result<RecordingDocument, StoreError> {
    let recording = Recording::open(location)?;
    let mut cassette = RecordingDocument::new(recording.meta().clone());
    for stored in recording.entries() {
        let stored = stored?;
        cassette.push(stored.name, stored.entry);
    }
    Ok(cassette)
}

impl Recording {
    /// Opens a recording for reading, and whatever of it has not reached its file yet.
    /// Nothing is created or changed; [`Recording::notes`] says where a recorder that
    /// is gone has left a log.
    ///
    /// # Errors
    /// A missing, unreadable, oversized, damaged or newer file, each with its path
    /// and what helps.
    pub fn open(location: impl Into<RecordingLocation>) -> Result<Self, StoreError> {
        let location = location.into();
        let path = location.as_path();
        let paths = paths_of(path)?;
        let mut recording = Self::open_to_inspect(path)?;
        if let Some(log) = run::abandoned_log(&paths)? {
            let (path, entries) = (path.to_owned(), recording.source.logged());
            recording.notes.push(StoreEvent::Unmerged { path, log, entries });
        }
        Ok(recording)
    }

    /// Opens a recording to answer from: as [`Recording::open`], without a log that a
    /// recorder has left. Nobody has reviewed what is in it.
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
        // Before it is read, since reading it may take long, and again behind that: it may
        // have been put there meanwhile.
        refuse_log()?;
        let recording = Self::open_to_inspect(path)?;
        refuse_log()?;
        Ok(recording)
    }

    /// Opens a recording that is to be changed. What recorders that are gone left in a
    /// log is merged into it first; [`Recording::notes`] tells of it.
    ///
    /// # Errors
    /// As [`Recording::open`]; a log that cannot be merged.
    pub fn open_merged(location: impl Into<RecordingLocation>) -> Result<Self, StoreError> {
        let location = location.into();
        let path = location.as_path();
        let notes = leftover::merge(path, &paths_of(path)?, &Disk::real())?;
        Ok(Self { notes, ..Self::open_to_inspect(path)? })
    }

    /// Opens a recording for reading as [`Recording::open`] does, while it may be
    /// recorded: nothing is said of its log.
    ///
    /// # Errors
    /// As [`Recording::open`].
    pub fn open_to_inspect(location: impl Into<RecordingLocation>) -> Result<Self, StoreError> {
        let location = location.into();
        let path = location.as_path();
        let source = RecordingSnapshot::open(path, &paths_of(path)?)?;
        let missing = || StoreError::Missing { path: path.to_owned() };
        let source = source.ok_or_else(missing)?;
        let failed = |source| StoreError::read(path.to_owned(), source);
        let opened = source.base().version().map_err(failed)?;
        Ok(Self { source, notes: Vec::new(), opened })
    }

    /// What was done to it on opening, and what lies beside it, for people.
    pub fn notes(&self) -> &[StoreEvent] {
        &self.notes
    }

    /// What it says about itself.
    pub fn meta(&self) -> &RecordingMeta {
        self.source.outline.meta()
    }

    /// The names it holds entries of, in the file's order; none of them is read.
    pub fn names(&self) -> impl Iterator<Item = EntryName> {
        let new = self.source.plan.new.iter().map(|(name, _)| name.clone());
        self.source.outline.names().chain(new)
    }

    /// The name of a number, counted in the order of [`Self::names`].
    pub fn name(&self, number: u32) -> Option<EntryName> {
        let (outline, number) = (&self.source.outline, number as usize);
        let new = || Some(self.source.plan.new.get(number - outline.count_names())?.0.clone());
        if number < outline.count_names() { outline.name(number) } else { new() }
    }

    /// At most how many takes there are, as far as that is seen without reading them.
    pub fn most_takes(&self) -> usize {
        self.source.outline.most_takes() + self.source.logged()
    }

    /// Every entry in the file's order, the takes of a name together; each is
    /// read as it is asked for.
    ///
    /// An item is an error where the entry cannot be read or used; it is the last.
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

    /// Where the takes of a name stand, the first first; none where it holds no such name.
    ///
    /// # Errors
    /// A list of takes that cannot be read.
    pub fn takes(&self, name: &EntryName) -> Result<Vec<TakeRef>, StoreError> {
        let source = &self.source;
        if let Some(at) = source.outline.find_name(name) {
            let changed = source.plan.changed.get(&at);
            return changed.map_or_else(|| source.takes_of(at), |takes| Ok(takes.clone()));
        }
        let new = source.plan.new.iter().find(|(new, _)| new == name);
        Ok(new.map(|(_, takes)| takes.clone()).unwrap_or_default())
    }

    /// The recording's name for people.
    pub(super) fn path(&self) -> &Path {
        self.source.path()
    }

    /// The version that was opened.
    pub(super) fn opened(&self) -> &BaseVersion {
        &self.opened
    }

    /// Its own text, and where everything stands in it; `None` where there is more to
    /// the recording than that.
    pub(super) fn only_base(&self) -> Option<(&BaseSnapshot, &RecordingOutline)> {
        let base = self.source.base();
        let alone = self.source.logged() == 0 && !base.is_nothing();
        alone.then_some((base, &self.source.outline))
    }

    /// How many bytes its own text has.
    pub(super) fn size(&self) -> u64 {
        self.source.size()
    }

    /// Checks that there is an entry, or a list of entries, wherever one must be,
    /// as far as that is seen without reading them.
    ///
    /// # Errors
    /// The first place where there is none.
    pub(super) fn check_shapes(&self) -> Result<(), StoreError> {
        let mut names = 0..self.source.outline.count_names();
        names.try_for_each(|name| self.source.takes_of(name).map(drop))
    }

    /// The file that an entry stands in, for people: in a folder the entry's own.
    pub fn file_of(&self, place: &TakeRef) -> PathBuf {
        self.source.file_of(place)
    }

    /// Reads an entry again.
    ///
    /// # Errors
    /// A file that cannot be read, or was changed in place since.
    pub fn entry(&self, place: &TakeRef) -> Result<Entry, StoreError> {
        self.source.entry(place, &mut ReadBuffer::default())
    }
}

/// The recording's files.
pub(super) fn paths_of(path: &Path) -> Result<RecordingPaths, StoreError> {
    RecordingPaths::of(path).map_err(|source| match source.kind() {
        io::ErrorKind::NotFound => StoreError::Missing { path: path.to_owned() },
        io::ErrorKind::NotADirectory => StoreError::NotAFolder { path: path.to_owned() },
        _ => StoreError::read(path.to_owned(), source),
    })
}

/// The entries of a recording: see [`Recording::entries`].
#[derive(Debug)]
pub struct EntryIter<'a> {
    source: &'a RecordingSnapshot,
    /// The number of the next name: those of the file, then the new ones.
    next: usize,
    /// What is left of the present name's takes.
    takes: std::vec::IntoIter<TakeRef>,
    /// The number of the take that was given last.
    take: usize,
    name: Option<EntryName>,
    window: ReadBuffer,
}

impl EntryIter<'_> {
    /// The next name and its takes; `None` behind the last.
    fn next_name(&mut self) -> Option<(EntryName, Result<Vec<TakeRef>, StoreError>)> {
        let (source, place) = (self.source, self.next);
        self.next += 1;
        if let Some(name) = source.outline.name(place) {
            let takes = match source.plan.changed.get(&place) {
                Some(takes) => Ok(takes.clone()),
                None => source.takes_of(place),
            };
            return Some((name, takes));
        }
        let (name, takes) = source.plan.new.get(place - source.outline.count_names())?;
        Some((name.clone(), Ok(takes.clone())))
    }

    /// The number of the name of the entry that was given last: see [`Recording::name`].
    pub fn name_number(&self) -> u32 {
        self.next.saturating_sub(1) as u32
    }

    /// The text of the entry that was given last, whose place this is; `None` where it
    /// does not stand in the file.
    pub fn text(&mut self, place: &TakeRef) -> Option<&[u8]> {
        match place.origin {
            EntryOrigin::File => self.source.text(place, &mut self.window).ok(),
            EntryOrigin::Log(_) => None,
        }
    }

    /// How many takes the name has of which an entry was given last.
    pub fn takes(&self) -> usize {
        self.take + self.takes.len()
    }

    fn fail(&mut self, error: StoreError) -> Option<Result<StoredEntry, StoreError>> {
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
                    Err(error) => return self.fail(error),
                }
                (self.name, self.take) = (Some(name), 0);
                continue;
            };
            self.take += 1;
            return match self.source.entry(&place, &mut self.window) {
                Ok(entry) => {
                    Some(Ok(StoredEntry { name: name.clone(), take: self.take, entry, place }))
                }
                Err(error) => self.fail(error),
            };
        }
    }
}
