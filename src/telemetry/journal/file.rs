//! The journal's file and its older parts: lines are written to `FILE`, `FILE.1` is the part before
//! it, `FILE.2` the one before that.
//!
//! The file contains only complete lines: if a write fails half-way, the incomplete line is
//! removed.

use std::ffi::OsString;
use std::fs::TryLockError;
use std::io::{self, ErrorKind, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

/// The beginning of every line.
const BEGINNING: &[u8] = br#"{"v":"#;

/// The beginning of the first line of a run.
const FIRST: &[u8] = br#"{"v":1,"seq":1,"#;

/// How many bytes of a file's end are searched for lines that may be removed.
const TAIL: u64 = 64 << 10;

/// When the file is rotated, and how many older parts are kept.
#[derive(Clone, Copy, Debug)]
pub struct JournalRotation {
    /// The most bytes of one file. A single line may be longer.
    pub max_size: u64,
    /// How many older parts are kept.
    pub keep: u32,
}

/// A journal's file.
#[derive(Debug)]
pub struct JournalFile {
    path: PathBuf,
    file: std::fs::File,
    /// The length of the complete lines in it.
    length: u64,
    rotation: Option<JournalRotation>,
}

/// Returns the name of an older part.
pub(super) fn part_path(path: &Path, number: u32) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(format!(".{number}"));
    PathBuf::from(name)
}

/// Returns the files of a journal, the oldest first: its older parts, then the file itself. A part
/// older than the beginning of the run belongs to another run, and is left out.
pub fn part_paths(path: &Path) -> Vec<PathBuf> {
    let mut all = vec![path.to_owned()];
    for number in 1.. {
        let part = part_path(path, number);
        if all.last().is_some_and(|last| begins_with(last, FIRST)) || !is_ours(&part) {
            break;
        }
        all.push(part);
    }
    all.reverse();
    all
}

impl JournalFile {
    /// Creates a file that only its owner may read. Its old content is removed, and so are the
    /// older parts of an earlier run.
    ///
    /// # Errors
    /// A file that cannot be written. A file that is not plain, if it is to be rotated.
    pub fn create(path: &Path, rotation: Option<JournalRotation>) -> io::Result<Self> {
        let file = create_private_file(path, rotation.is_some())?;
        for number in 1.. {
            let part = part_path(path, number);
            if !is_ours(&part) {
                break;
            }
            std::fs::remove_file(part)?;
        }
        Ok(Self { path: path.to_owned(), file, length: 0, rotation })
    }

    /// Whether this many more bytes would make the file larger than it may be.
    pub(super) fn is_over(&self, more: usize) -> bool {
        self.rotation.is_some_and(|rotation| self.length + more as u64 > rotation.max_size)
    }

    /// Makes the file the first of the older parts, and begins a new one. Returns `false` if the
    /// file is empty or is never rotated.
    ///
    /// # Errors
    /// An error of the file system. The current file stays in use then.
    pub(super) fn rotate(&mut self) -> io::Result<bool> {
        let Some(rotation) = self.rotation.filter(|_| self.length > 0) else { return Ok(false) };
        let part = |number| part_path(&self.path, number);
        let there = (1..=rotation.keep).take_while(|&number| part(number).exists()).last();
        let last = there.unwrap_or(0);
        for number in 1..=last {
            if !is_ours(&part(number)) {
                let why = format!("{} is not part of a journal", part(number).display());
                return Err(io::Error::new(ErrorKind::AlreadyExists, why));
            }
        }
        for number in (1..=last).rev().filter(|&number| number < rotation.keep) {
            std::fs::rename(part(number), part(number + 1))?;
        }
        match rotation.keep {
            0 => std::fs::remove_file(&self.path)?,
            _ => std::fs::rename(&self.path, part(1))?,
        }
        self.file = create_private_file(&self.path, true)?;
        self.length = 0;
        Ok(true)
    }

    /// Removes as many of the last lines as are needed to make room for this many bytes, but only
    /// lines within the last [`TAIL`] bytes. Returns their number.
    ///
    /// # Errors
    /// A file that cannot be read or truncated.
    pub(super) fn take_back(&mut self, bytes: u64) -> io::Result<u64> {
        let from = self.length.saturating_sub(TAIL);
        let mut tail = Vec::new();
        let mut file = std::fs::File::open(&self.path)?;
        file.seek(SeekFrom::Start(from))?;
        file.take(self.length - from).read_to_end(&mut tail)?;
        let room = self.length.saturating_sub(bytes).saturating_sub(from);
        let room = usize::try_from(room).unwrap_or(tail.len()).min(tail.len());
        let kept = tail[..room].iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
        let gone = memchr::memchr_iter(b'\n', &tail[kept..]).count() as u64;
        self.length = from + kept as u64;
        self.file.set_len(self.length)?;
        self.file.seek(SeekFrom::Start(self.length))?;
        Ok(gone)
    }

    /// Appends complete lines.
    ///
    /// # Errors
    /// How many bytes of complete lines were written, and the error that kept the others out.
    pub(super) fn append(&mut self, lines: &[u8]) -> Result<(), (usize, io::Error)> {
        let mut written = 0;
        while written < lines.len() {
            let error = match self.file.write(&lines[written..]) {
                Ok(0) => io::Error::from(ErrorKind::WriteZero),
                Ok(more) => {
                    written += more;
                    continue;
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Err(error) => error,
            };
            let end = lines[..written].iter().rposition(|&byte| byte == b'\n');
            let whole = end.map_or(0, |end| end + 1);
            self.length += whole as u64;
            // A pipe cannot be truncated: its reader has to cope with the incomplete line.
            if self.file.set_len(self.length).is_ok() {
                drop(self.file.seek(SeekFrom::Start(self.length)));
            }
            return Err((whole, error));
        }
        self.length += written as u64;
        Ok(())
    }
}

/// Creates a file that only its owner may read, or empties it. Fails if another run writes to it:
/// the runs would overwrite each other's lines.
fn create_private_file(path: &Path, is_rotated: bool) -> io::Result<std::fs::File> {
    let file = loomrec_store::open_output(path, 0o600)?;
    let is_plain = file.metadata()?.is_file();
    if is_rotated && !is_plain {
        let why = "only a plain file can be rotated";
        return Err(io::Error::new(ErrorKind::InvalidInput, why));
    }
    if is_plain {
        if let Err(TryLockError::WouldBlock) = file.try_lock() {
            let why = "another run writes its journal there; give each run a file of its own";
            return Err(io::Error::new(ErrorKind::WouldBlock, why));
        }
        loomrec_store::accept_replacing(&file, path, &[BEGINNING])?;
        file.set_len(0)?;
    }
    Ok(file)
}

/// Whether a file begins as a journal does.
fn is_ours(path: &Path) -> bool {
    let is_file = std::fs::symlink_metadata(path).is_ok_and(|found| found.is_file());
    is_file && begins_with(path, BEGINNING)
}

/// Whether a file begins with these bytes. A pipe is not read: that would consume its data.
fn begins_with(path: &Path, beginning: &[u8]) -> bool {
    let mut start = vec![0; beginning.len()];
    let is_file = std::fs::metadata(path).is_ok_and(|found| found.is_file());
    let mut read = || std::fs::File::open(path)?.read_exact(&mut start);
    is_file && read().is_ok() && start == beginning
}
