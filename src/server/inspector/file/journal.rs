//! A journal in files: where its lines stand, as far as they have been written.

use std::fs::{File, Metadata};
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::time::Duration;

use serde_json::Value;

use super::super::super::journal::parts;

/// The longest line that is shown.
const LONGEST: usize = 16 << 20;
/// A journal that was written to in this time is taken to be still growing.
const RECENT: Duration = Duration::from_secs(60);
/// Bytes that are read at once.
const BLOCK: usize = 256 << 10;

/// A journal and its older parts.
#[derive(Debug)]
pub struct JournalFile {
    path: PathBuf,
    lines: RwLock<Vec<Spot>>,
    end: Mutex<End>,
}

/// Where a line stands.
#[derive(Debug)]
struct Spot {
    file: Arc<File>,
    at: u64,
    length: u32,
}

/// How far it has been read.
#[derive(Debug)]
struct End {
    file: Arc<File>,
    /// Where the next line begins.
    at: u64,
}

/// Whether a file begins as a journal does: with a line that is a JSON object of its
/// version and says what became of a call.
pub fn is_journal(path: &Path) -> bool {
    let first = || -> io::Result<Vec<u8>> {
        let mut line = Vec::new();
        let file = File::open(path)?;
        if file.metadata()?.is_file() {
            BufReader::new(file.take(LONGEST as u64)).read_until(b'\n', &mut line)?;
        }
        Ok(line)
    };
    let line: Option<Value> = first().ok().and_then(|line| serde_json::from_slice(&line).ok());
    line.is_some_and(|line| line["v"].is_number() && line["outcome"].is_string())
}

impl JournalFile {
    /// Opens a journal, and finds its lines.
    ///
    /// # Errors
    /// Files that cannot be read.
    pub fn open(path: &Path) -> io::Result<Self> {
        let all = parts(path);
        let mut files = all.iter().map(|path| File::open(path).map(Arc::new));
        let first = match files.next() {
            Some(first) => first?,
            None => Arc::new(File::open(path)?),
        };
        let journal = Self {
            path: path.to_owned(),
            lines: RwLock::default(),
            end: Mutex::new(End { file: first, at: 0 }),
        };
        journal.read_on()?;
        for file in files {
            journal.go_on(file?);
            journal.read_on()?;
        }
        Ok(journal)
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// How many lines it has so far.
    pub(super) fn count(&self) -> usize {
        self.lines.read().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Whether it was written to a short while ago.
    pub(super) fn is_growing(&self) -> bool {
        let changed = std::fs::metadata(&self.path).and_then(|found| found.modified());
        changed.is_ok_and(|changed| changed.elapsed().is_ok_and(|ago| ago < RECENT))
    }

    /// Looks for lines that were written since, in this file and in those that came after
    /// it. What cannot be read now is looked for again the next time.
    pub(super) fn grow(&self) {
        if self.read_on().is_err() {
            return;
        }
        for path in self.moved().unwrap_or_default() {
            let Ok(file) = File::open(path) else { return };
            self.go_on(Arc::new(file));
            if self.read_on().is_err() {
                return;
            }
        }
    }

    /// The line of this number, from 1, with that number in it; `None` where it cannot be
    /// read any more.
    pub(super) fn line(&self, number: u64) -> Option<Value> {
        let index = usize::try_from(number).ok()?.checked_sub(1)?;
        let (file, at, length) = {
            let lines = self.lines.read().unwrap_or_else(PoisonError::into_inner);
            let spot = lines.get(index)?;
            (Arc::clone(&spot.file), spot.at, spot.length)
        };
        let mut text = vec![0; length as usize];
        file.read_exact_at(&mut text, at).ok()?;
        let mut line: Value = serde_json::from_slice(&text).ok()?;
        line.as_object_mut()?.insert("seq".to_owned(), Value::from(number));
        Some(line)
    }

    fn end(&self) -> std::sync::MutexGuard<'_, End> {
        self.end.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn go_on(&self, file: Arc<File>) {
        *self.end() = End { file, at: 0 };
    }

    /// Finds the whole lines behind the place that was reached.
    fn read_on(&self) -> io::Result<()> {
        let mut end = self.end();
        let (mut block, mut line) = (vec![0; BLOCK], end.at);
        let mut at = end.at;
        loop {
            let read = end.file.read_at(&mut block, at)?;
            if read == 0 {
                return Ok(());
            }
            let mut lines = self.lines.write().unwrap_or_else(PoisonError::into_inner);
            for place in memchr::memchr_iter(b'\n', &block[..read]) {
                let behind = at + place as u64;
                // A longer one has a place too, and cannot be read there.
                let length = (behind - line).min(LONGEST as u64) as u32;
                lines.push(Spot { file: Arc::clone(&end.file), at: line, length });
                line = behind + 1;
            }
            drop(lines);
            at += read as u64;
            end.at = line;
        }
    }

    /// The files that come after the one that was read last, where there are some.
    fn moved(&self) -> Option<Vec<PathBuf>> {
        let end = self.end();
        let here = end.file.metadata().ok()?;
        let there = std::fs::metadata(&self.path).ok()?;
        let same =
            |one: &Metadata, other: &Metadata| (one.dev(), one.ino()) == (other.dev(), other.ino());
        if same(&here, &there) {
            // Emptied, it begins anew.
            return (here.len() < end.at).then(|| vec![self.path.clone()]);
        }
        let all = parts(&self.path);
        let is_this =
            |path: &PathBuf| std::fs::metadata(path).is_ok_and(|other| same(&other, &here));
        match all.iter().position(is_this) {
            Some(place) => Some(all[place + 1..].to_vec()),
            None => Some(vec![self.path.clone()]),
        }
    }
}
