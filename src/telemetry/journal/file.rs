//! The journal's file. It contains only complete lines: if a write fails half-way, the incomplete
//! line is removed.

use std::fs::TryLockError;
use std::io::{self, ErrorKind, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

/// The beginning of every line.
const BEGINNING: &[u8] = br#"{"v":"#;

/// How many bytes of a file's end are searched for lines that may be removed.
const TAIL: u64 = 64 << 10;

/// A journal's file.
#[derive(Debug)]
pub struct JournalFile {
    path: PathBuf,
    file: std::fs::File,
    /// The length of the complete lines in it.
    length: u64,
}

impl JournalFile {
    /// Creates a file that only its owner may read, or empties it.
    ///
    /// # Errors
    /// A file that cannot be written, or to which another run writes: the runs would overwrite each
    /// other's lines.
    pub fn create(path: &Path) -> io::Result<Self> {
        let file = loomrec_store::open_output(path, 0o600)?;
        if file.metadata()?.is_file() {
            if let Err(TryLockError::WouldBlock) = file.try_lock() {
                let why = "another run writes its journal there; give each run a file of its own";
                return Err(io::Error::new(ErrorKind::WouldBlock, why));
            }
            loomrec_store::accept_replacing(&file, path, &[BEGINNING])?;
            file.set_len(0)?;
        }
        Ok(Self { path: path.to_owned(), file, length: 0 })
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
