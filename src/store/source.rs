//! The files that a recording is read from, open: itself, and the logs beside it.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use super::error::StoreError;
use super::lock::{self, FileId};
use super::log::{self, FrameAt, Scanned};
use super::merge::{Frame, Origin, Place, Plan, plan};
use super::paths::Paths;
use super::{file, index};
use crate::identity::IdentityRules;
use crate::recording::entry::Unread;
use crate::recording::outline::{Named, Outline};
use crate::recording::packed::{self, Head, PackedError};
use crate::recording::{Entry, Meta};

/// Enough of a packed entry to tell its name and time, nearly always.
const GLANCE: u32 = 640;

/// The least that is read at once where entries are read one after the other.
const WINDOW: u64 = 256 * 1024;

/// How often a recording is opened again whose log was folded meanwhile.
const TRIES: usize = 100;

/// A recording and its logs, open, and how they make one.
#[derive(Debug)]
pub(super) struct Source {
    /// The recording's name for people.
    path: PathBuf,
    file: Option<File>,
    pub(super) outline: Outline,
    logs: Vec<Log>,
    pub(super) plan: Plan,
}

/// The files of a recording, open, and not looked into.
struct Files {
    file: Option<File>,
    /// The older first.
    logs: Vec<(PathBuf, File, FileId)>,
}

#[derive(Debug)]
struct Log {
    path: PathBuf,
    file: File,
    scanned: Scanned,
}

impl Source {
    /// Opens a recording and whatever logs there are; `None` where there is none
    /// of them. An entry in a log that cannot be read is passed over, as one that
    /// was not finished is: a fold sets it aside.
    ///
    /// # Errors
    /// A file that cannot be read or used.
    pub(super) fn open(path: &Path, paths: &Paths) -> Result<Option<Self>, StoreError> {
        Self::open_with(path, paths, || {})
    }

    /// The same; `between` is called wherever others may come between two steps.
    fn open_with(
        path: &Path,
        paths: &Paths,
        mut between: impl FnMut(),
    ) -> Result<Option<Self>, StoreError> {
        for _ in 0..TRIES {
            let Files { file, logs } = match Files::open(path, paths, &mut between)? {
                Some(files) => files,
                None => continue,
            };
            let logs = logs.into_iter().map(|(path, file, _)| Log::scan(&path, file));
            return Self::of(path, file, logs.collect::<Result<_, _>>()?, false);
        }
        let source = io::Error::other("its log is folded again and again");
        Err(StoreError::Read { path: path.to_owned(), source })
    }

    /// A recording and the one log that is being folded into it, without the
    /// entries that have been set aside.
    ///
    /// # Errors
    /// A file that cannot be read or used; [`StoreError::Log`] for a log with an
    /// entry that cannot be read.
    pub(super) fn folding(
        paths: &Paths,
        log: &File,
        aside: &[FrameAt],
    ) -> Result<Option<Self>, StoreError> {
        let failed = |source| StoreError::Read { path: paths.folding.clone(), source };
        let log = log.try_clone().map_err(failed)?;
        let mut log = Log::scan(&paths.folding, log)?;
        log.scanned.frames.retain(|frame| !aside.contains(frame));
        Self::of(&paths.target, file::open(&paths.target)?, vec![log], true)
    }

    fn of(
        path: &Path,
        file: Option<File>,
        logs: Vec<Log>,
        strict: bool,
    ) -> Result<Option<Self>, StoreError> {
        let is_empty = |log: &Log| log.scanned.frames.is_empty();
        let outline = match &file {
            Some(file) => index::read(path, file)?,
            None if logs.iter().all(is_empty) => return Ok(None),
            None => {
                let rules = logs.iter().find_map(|log| log.scanned.rules.clone());
                Outline::empty(Meta::new(&rules.unwrap_or_default()))
            }
        };
        let mut source = Self { path: path.to_owned(), file, outline, logs, plan: Plan::default() };
        let frames = source.frames(strict)?;
        source.plan = plan(
            &source.outline,
            frames,
            |named| source.takes_of(named),
            |place| source.entry(place, &mut Window::default()),
        )?;
        Ok(Some(source))
    }

    /// A recording that is written anew: its file, and the entries that are new to it.
    pub(super) fn rewriting(
        path: &Path,
        file: Option<File>,
        outline: Outline,
        new: File,
        plan: Plan,
    ) -> Self {
        let spool = Log { path: path.to_owned(), file: new, scanned: Scanned::default() };
        Self { path: path.to_owned(), file, outline, logs: vec![spool], plan }
    }

    /// The recording's name for people.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The recording's file, where there is one.
    pub(super) fn file(&self) -> Option<&File> {
        self.file.as_ref()
    }

    /// How many bytes the file has.
    pub(super) fn size(&self) -> u64 {
        self.file().and_then(|file| file.metadata().ok()).map_or(0, |metadata| metadata.len())
    }

    /// The rules that the logs' entries were recorded under, where they say so.
    pub(super) fn rules(&self) -> Option<&IdentityRules> {
        self.logs.iter().find_map(|log| log.scanned.rules.as_ref())
    }

    /// How many entries the logs hold.
    pub(super) fn logged(&self) -> usize {
        self.logs.iter().map(|log| log.scanned.frames.len()).sum()
    }

    fn frames(&self, strict: bool) -> Result<Vec<Frame>, StoreError> {
        let mut frames = Vec::with_capacity(self.logged());
        for (number, log) in self.logs.iter().enumerate() {
            let mut window = Window::default();
            for frame in &log.scanned.frames {
                let (at, length) = (frame.at, u64::from(frame.len));
                let place = Place { origin: Origin::Log(number), at, length };
                match self.head(&place, &mut window) {
                    Ok(head) => frames.push(Frame { head, place }),
                    Err(StoreError::Log { .. }) if !strict => {}
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(frames)
    }

    fn head(&self, place: &Place, window: &mut Window) -> Result<Head, StoreError> {
        let glance = Place { length: place.length.min(GLANCE.into()), ..*place };
        if let Ok(head) = packed::peek(self.text(&glance, window)?) {
            return Ok(head);
        }
        packed::peek(self.text(place, window)?).map_err(|problem| self.damaged(place, problem))
    }

    /// Where the takes of a name stand in the file.
    ///
    /// # Errors
    /// A member that is no entry and no list of entries.
    pub(super) fn takes_of(&self, named: &Named) -> Result<Vec<Place>, StoreError> {
        let mut places = Vec::with_capacity(named.members.len());
        let members = self.outline.members();
        for member in named.members.iter().filter_map(|&at| members.get(at)) {
            let Some(takes) = self.outline.takes(member) else {
                let value = Place::in_file(&member.value);
                let mut window = Window::default();
                let text = self.text(&value, &mut window)?;
                return Err(self.not_json(self.outline.not_entry(member, text)));
            };
            places.extend(takes.iter().map(Place::in_file));
        }
        Ok(places)
    }

    /// Reads an entry; those that stand one behind the other are best read
    /// through one window.
    ///
    /// # Errors
    /// A file that cannot be read, or does not hold an entry there.
    pub(super) fn entry(&self, place: &Place, window: &mut Window) -> Result<Entry, StoreError> {
        let text = self.text(place, window)?;
        match place.origin {
            Origin::File => Entry::read(text).map_err(|why| {
                let range = place.at..place.at + place.length;
                match why {
                    Unread::Json(error) => self.not_json(self.outline.bad_json(&range, &error)),
                    Unread::Entry(problem) => {
                        index::unusable(&self.path, self.outline.bad_entry(&range, problem))
                    }
                }
            }),
            Origin::Log(_) => packed::unpack(text)
                .map(|(_, entry)| entry)
                .map_err(|problem| self.damaged(place, problem)),
        }
    }

    /// The bytes at a place.
    ///
    /// # Errors
    /// A file that cannot be read, or is shorter than it was.
    pub(super) fn text<'a>(
        &self,
        place: &Place,
        window: &'a mut Window,
    ) -> Result<&'a [u8], StoreError> {
        let (path, file) = match place.origin {
            Origin::File => (&self.path, self.file.as_ref()),
            Origin::Log(number) => match self.logs.get(number) {
                Some(log) => (&log.path, Some(&log.file)),
                None => (&self.path, None),
            },
        };
        let failed = |source| StoreError::Read { path: path.clone(), source };
        let file = file.ok_or_else(|| failed(io::ErrorKind::NotFound.into()))?;
        window.read(file, place).map_err(failed)
    }

    /// An error in the file's own text: where that is no JSON, it is told where
    /// it first is not.
    fn not_json(&self, error: crate::recording::FormatError) -> StoreError {
        let found = self.file.as_ref().and_then(|file| index::problem(file).ok().flatten());
        index::unusable(&self.path, found.unwrap_or(error))
    }

    fn damaged(&self, place: &Place, problem: PackedError) -> StoreError {
        let path = match place.origin {
            Origin::Log(number) => self.logs.get(number).map(|log| log.path.clone()),
            Origin::File => None,
        };
        StoreError::Log { path: path.unwrap_or_else(|| self.path.clone()), problem }
    }
}

impl Place {
    pub(super) fn in_file(range: &std::ops::Range<u64>) -> Self {
        Self { origin: Origin::File, at: range.start, length: range.end - range.start }
    }
}

impl Files {
    /// Opens the log, the folding log and the file, in that order: what moves on
    /// meanwhile is not missed. `None` where it has moved too far: had the newest
    /// log that is open been folded before the file was opened, that could hold
    /// what was recorded after it, and the older entries would be put over it.
    fn open(
        path: &Path,
        paths: &Paths,
        between: &mut impl FnMut(),
    ) -> Result<Option<Self>, StoreError> {
        let newer = open_log(&paths.log)?;
        between();
        let older = open_log(&paths.folding)?;
        between();
        let file = file::open(path)?;
        between();
        let mut logs: Vec<_> = older.into_iter().collect();
        // It may have been moved between the two.
        let moved = |log: &(_, _, FileId)| logs.first().is_some_and(|older| older.2 == log.2);
        logs.extend(newer.filter(|log| !moved(log)).into_iter().collect::<Vec<_>>());
        let is_at = |at: &Path, id: FileId| {
            let failed = |source| StoreError::Read { path: at.to_owned(), source };
            lock::id_at(at).map(|there| there == Some(id)).map_err(failed)
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
    let failed = |source| StoreError::Read { path: path.to_owned(), source };
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    let id = lock::id_of(&file.metadata().map_err(failed)?);
    Ok(Some((path.to_owned(), file, id)))
}

/// The frames of a log that are whole, and whose entries cannot be read.
///
/// # Errors
/// A log that cannot be read.
pub(super) fn unreadable(log: &File) -> io::Result<Vec<FrameAt>> {
    let mut found = Vec::new();
    for frame in log::scan(log)?.frames {
        if packed::unpack(&log::payload(log, frame)?).is_err() {
            found.push(frame);
        }
    }
    Ok(found)
}

impl Log {
    fn scan(path: &Path, file: File) -> Result<Self, StoreError> {
        let scanned = log::scan(&file)
            .map_err(|source| StoreError::Read { path: path.to_owned(), source })?;
        if scanned.newer {
            return Err(StoreError::NewerLog { path: path.to_owned() });
        }
        Ok(Self { path: path.to_owned(), file, scanned })
    }
}

/// Bytes that were read last, so that neighbours are read together.
#[derive(Debug, Default)]
pub(super) struct Window {
    origin: Option<Origin>,
    at: u64,
    bytes: Vec<u8>,
}

impl Window {
    fn read(&mut self, file: &File, place: &Place) -> io::Result<&[u8]> {
        let behind = place.at.checked_sub(self.at).filter(|_| self.origin == Some(place.origin));
        let held = self.bytes.len() as u64;
        let start = match behind {
            Some(start) if start.saturating_add(place.length) <= held => start,
            _ => {
                // Only a neighbour promises more neighbours.
                let near = behind.is_some_and(|start| start <= held.saturating_add(WINDOW));
                let wanted = if near { place.length.max(WINDOW) } else { place.length };
                self.fill(file, place, wanted)?;
                0
            }
        };
        let start = usize::try_from(start).unwrap_or(usize::MAX);
        let end = start.saturating_add(usize::try_from(place.length).unwrap_or(usize::MAX));
        self.bytes.get(start..end).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }

    fn fill(&mut self, file: &File, place: &Place, wanted: u64) -> io::Result<()> {
        self.origin = None;
        self.bytes.clear();
        let wanted = usize::try_from(wanted).map_err(|_| io::ErrorKind::OutOfMemory)?;
        self.bytes.resize(wanted, 0);
        let mut filled = 0;
        while filled < wanted {
            match file.read_at(&mut self.bytes[filled..], place.at + filled as u64) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        self.bytes.truncate(filled);
        (self.origin, self.at) = (Some(place.origin), place.at);
        Ok(())
    }
}

#[cfg(test)]
#[path = "source_tests.rs"]
mod tests;
