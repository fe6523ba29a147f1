//! The index of a journal: the positions of the lines written so far.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use serde_json::Value;

use loomrec_os::{FileId, FileStatus, read_at, read_exact_at};

/// The longest line that is shown.
const LONGEST: usize = 16 << 20;
/// A journal that was written to within this time counts as still growing.
const RECENT: Duration = Duration::from_secs(60);
/// Bytes that are read at once.
const BLOCK: usize = 256 << 10;

/// How many deleted files are held open: their space on the disk is free only when they are closed.
const DELETED: usize = 4;

/// A journal, and the earlier files that it replaced while it was read.
#[derive(Debug)]
pub struct JournalIndex {
    path: PathBuf,
    lines: RwLock<LinePositions>,
    end: Mutex<ReadEnd>,
}

/// The positions of the lines.
#[derive(Debug, Default)]
struct LinePositions {
    spots: Vec<LinePosition>,
    /// The files that contain them, the oldest first. `None` for a file that was closed.
    files: Vec<Option<Arc<File>>>,
}

/// The position of a line.
#[derive(Debug)]
struct LinePosition {
    file: u32,
    length: u32,
    at: u64,
}

/// How far the journal has been read. A reader holds the lock on this while it reads on.
#[derive(Debug)]
struct ReadEnd {
    file: Arc<File>,
    /// The offset at which the next line begins.
    at: u64,
    /// The offset up to which that line has been searched for its end.
    seen: u64,
}

impl ReadEnd {
    fn at_start(file: Arc<File>) -> Self {
        Self { file, at: 0, seen: 0 }
    }
}

impl LinePositions {
    /// Continues with another file. Closes the oldest deleted files.
    fn go_on(&mut self, file: &Arc<File>) {
        self.files.push(Some(Arc::clone(file)));
        let is_deleted =
            |file: &Arc<File>| FileStatus::from_file(file).is_ok_and(|found| found.names == 0);
        let deleted = |file: &Option<Arc<File>>| file.as_ref().is_some_and(is_deleted);
        let gone: Vec<usize> =
            (0..self.files.len()).filter(|&index| deleted(&self.files[index])).collect();
        for index in &gone[..gone.len().saturating_sub(DELETED)] {
            self.files[*index] = None;
        }
    }
}

impl JournalIndex {
    /// Opens a journal, and finds its lines.
    ///
    /// # Errors
    /// An error of reading the file.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = Arc::new(File::open(path)?);
        let journal = Self {
            path: path.to_owned(),
            lines: RwLock::default(),
            end: Mutex::new(ReadEnd::at_start(Arc::clone(&file))),
        };
        journal.read_all(&mut journal.lock_end(), file)?;
        Ok(journal)
    }

    /// Returns the path of the journal.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns how many lines it has so far.
    pub(super) fn line_count(&self) -> usize {
        self.lines.read().unwrap_or_else(PoisonError::into_inner).spots.len()
    }

    /// Whether it was written to recently.
    pub(super) fn is_growing(&self) -> bool {
        let changed = std::fs::metadata(&self.path).and_then(|found| found.modified());
        changed.is_ok_and(|changed| changed.elapsed().is_ok_and(|ago| ago < RECENT))
    }

    /// Looks for new lines, in the current file and in one that took its place. Lines that cannot
    /// be read now are looked for again the next time.
    pub(super) fn read_new_lines(&self) {
        let mut end = self.lock_end();
        if self.read_on(&mut end).is_err() || !self.begins_anew(&end) {
            return;
        }
        if let Ok(file) = File::open(&self.path) {
            drop(self.read_all(&mut end, Arc::new(file)));
        }
    }

    /// Returns the line of this number, from 1, with that number in it. Returns `None` if it can no
    /// longer be read.
    pub(super) fn read_line(&self, number: u64) -> Option<Value> {
        let index = usize::try_from(number).ok()?.checked_sub(1)?;
        let (file, at, length) = {
            let lines = self.lines.read().unwrap_or_else(PoisonError::into_inner);
            let spot = lines.spots.get(index)?;
            (Arc::clone(lines.files.get(spot.file as usize)?.as_ref()?), spot.at, spot.length)
        };
        let mut text = vec![0; length as usize];
        read_exact_at(&file, &mut text, at).ok()?;
        let mut line: Value = serde_json::from_slice(&text).ok()?;
        line.as_object_mut()?.insert("seq".to_owned(), Value::from(number));
        Some(line)
    }

    fn lock_end(&self) -> std::sync::MutexGuard<'_, ReadEnd> {
        self.end.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Continues with another file, and indexes its lines.
    fn read_all(&self, end: &mut ReadEnd, file: Arc<File>) -> io::Result<()> {
        self.lines.write().unwrap_or_else(PoisonError::into_inner).go_on(&file);
        *end = ReadEnd::at_start(file);
        self.read_on(end)
    }

    /// Indexes the complete lines after the current position.
    fn read_on(&self, end: &mut ReadEnd) -> io::Result<()> {
        let mut block = vec![0; BLOCK];
        loop {
            let read = read_at(&end.file, &mut block, end.seen)?;
            if read == 0 {
                return Ok(());
            }
            let mut lines = self.lines.write().unwrap_or_else(PoisonError::into_inner);
            let file = lines.files.len().saturating_sub(1) as u32;
            for place in memchr::memchr_iter(b'\n', &block[..read]) {
                let behind = end.seen + place as u64;
                // A longer line is indexed too, but cannot be read at this length.
                let length = (behind - end.at).min(LONGEST as u64) as u32;
                lines.spots.push(LinePosition { file, length, at: end.at });
                end.at = behind + 1;
            }
            end.seen += read as u64;
        }
    }

    /// Whether the journal begins anew: a later run emptied its file, or another file took its
    /// place.
    fn begins_anew(&self, end: &ReadEnd) -> bool {
        let here = FileStatus::from_file(&end.file);
        match (here, id_of_target(&self.path)) {
            (Ok(here), Some(there)) => there != here.id || here.length < end.seen,
            _ => false,
        }
    }
}

/// Returns the id of the file at a path, or `None` if there is none.
fn id_of_target(path: &Path) -> Option<FileId> {
    FileStatus::at_target(path).ok().flatten().map(|status| status.id)
}

#[cfg(test)]
#[path = "journal_tests.rs"]
mod tests;
