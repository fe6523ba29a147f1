//! The reader of a whole journal, line by line: its older parts first, then the file itself.

use std::path::{Path, PathBuf};

use super::super::exit::CommandFailure;
use super::super::terminal::path_line;
use super::followed_file::{FollowedFile, NextLine};
use loomrec_telemetry::journal::part_paths;

/// The result of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JournalRead {
    /// A line, which [`WholeJournal::last_line`] returns.
    Line,
    /// The incomplete last line of a file whose run was killed.
    Cut,
    /// Nothing more.
    End,
}

/// A journal that is being read.
pub struct WholeJournal {
    tail: FollowedFile,
    later: std::vec::IntoIter<PathBuf>,
    /// Whether the current file has been read to its end.
    over: bool,
}

impl WholeJournal {
    /// Opens a journal.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn open(path: &Path) -> Result<Self, CommandFailure> {
        let mut files = part_paths(path).into_iter();
        let first = files.next().unwrap_or_else(|| path.to_owned());
        Ok(Self { tail: FollowedFile::open(&first)?, later: files, over: false })
    }

    /// Reads the next line.
    ///
    /// # Errors
    /// A file that cannot be read; a line that is too long.
    pub fn read(&mut self) -> Result<JournalRead, CommandFailure> {
        loop {
            if self.over {
                let Some(path) = self.later.next() else { return Ok(JournalRead::End) };
                self.tail = FollowedFile::open(&path)?;
            }
            let read = match self.tail.next(true)? {
                NextLine::Line(_) => JournalRead::Line,
                NextLine::Cut => JournalRead::Cut,
                NextLine::End => JournalRead::End,
            };
            self.over = read != JournalRead::Line;
            if read != JournalRead::End {
                return Ok(read);
            }
        }
    }

    /// Returns the line that was read last.
    pub fn last_line(&self) -> &[u8] {
        self.tail.last_line()
    }

    /// Returns the place of that line.
    pub fn line_place(&self) -> String {
        format!("{}, line {}", path_line(self.tail.path()), self.tail.line_number())
    }

    /// Returns the error for a line that is not a journal record.
    pub fn no_line(&self, why: &str) -> CommandFailure {
        self.tail.no_line(why)
    }
}
