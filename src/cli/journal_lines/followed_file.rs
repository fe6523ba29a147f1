//! The reader of one journal file, line by line, and of the files that follow it after a rotation.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _, Seek as _};
use std::path::{Path, PathBuf};

use super::super::exit::{CommandFailure, RECORDING};
use super::super::terminal::path_line;
use loomrec_os::{FileId, FileStatus};
use loomrec_telemetry::journal::part_paths;

/// The longest line that is read.
const LONGEST: u64 = 16 << 20;

/// How many bytes of a file show what it is.
const BEGINNING: u64 = 256;

/// The result of a read.
pub enum NextLine<'a> {
    /// A line.
    Line(&'a [u8]),
    /// The incomplete last line.
    Cut,
    /// No line, for now or at all.
    End,
}

/// A file that is being read.
pub struct FollowedFile {
    path: PathBuf,
    file: BufReader<File>,
    /// The number of the current line, from 1.
    number: u64,
    line: Vec<u8>,
    /// Whether the current line has been returned.
    told: bool,
}

impl FollowedFile {
    /// Opens a file.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn open(path: &Path) -> Result<Self, CommandFailure> {
        let file = loomrec_os::open_input(path).map_err(|error| read_failure(path, &error))?;
        let file = BufReader::with_capacity(64 << 10, file);
        Ok(Self { path: path.to_owned(), file, number: 1, line: Vec::new(), told: false })
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the number of the line that was read last, from 1.
    pub fn line_number(&self) -> u64 {
        self.number
    }

    /// Returns the line that was read last.
    pub fn last_line(&self) -> &[u8] {
        &self.line
    }

    /// Reads the next line. An incomplete line may still grow, unless this is the `end`.
    ///
    /// # Errors
    /// A file that cannot be read; a line that is too long.
    pub fn next(&mut self, end: bool) -> Result<NextLine<'_>, CommandFailure> {
        if std::mem::take(&mut self.told) {
            self.line.clear();
            self.number += 1;
        }
        let room = LONGEST.saturating_sub(self.line.len() as u64);
        let read = (&mut self.file).take(room).read_until(b'\n', &mut self.line);
        read.map_err(|error| read_failure(&self.path, &error))?;
        let whole = self.line.ends_with(b"\n");
        if !whole && self.line.len() as u64 >= LONGEST {
            return Err(self.no_line("it is longer than 16 MiB"));
        }
        if self.line.is_empty() || (!whole && !end) {
            return Ok(NextLine::End);
        }
        let is_cut = |line: &[u8]| {
            let read: Result<serde::de::IgnoredAny, _> = serde_json::from_slice(line);
            read.is_err_and(|error| error.is_eof())
        };
        // A run that was killed may have left half a line.
        if !whole && self.number > 1 && is_cut(&self.line) {
            return Ok(NextLine::Cut);
        }
        self.told = true;
        Ok(NextLine::Line(&self.line))
    }

    /// Returns the error for a line that is not a journal record.
    pub fn no_line(&self, why: &str) -> CommandFailure {
        if self.number == 1
            && let Some(kind) = kind_of(&self.path)
        {
            return CommandFailure::usage(format!(
                "{}: this is {kind}, not a journal: name the file that --journal wrote",
                path_line(&self.path)
            ));
        }
        let place = format!("{}, line {}", path_line(&self.path), self.number);
        CommandFailure::usage(format!("{place}: this is not a line of a journal: {why}"))
    }

    /// Returns the files that follow this one, if `file` is another file by now. Returns `None` if
    /// it is not.
    pub fn has_moved(&mut self, file: &Path) -> Option<Vec<PathBuf>> {
        let there = id_of_target(file)?;
        let here = FileStatus::from_file(self.file.get_ref()).ok()?;
        if there == here.id {
            // The file was truncated, so it is read from its beginning again.
            let at = self.file.stream_position().ok()?;
            return (at > here.length).then(|| vec![file.to_owned()]);
        }
        let all = part_paths(file);
        match all.iter().position(|path| id_of_target(path) == Some(here.id)) {
            Some(place) => Some(all[place + 1..].to_vec()),
            None => Some(vec![file.to_owned()]),
        }
    }
}

/// Returns the id of the file at a path, or `None` if there is none.
fn id_of_target(path: &Path) -> Option<FileId> {
    FileStatus::at_target(path).ok().flatten().map(|status| status.id)
}

/// Returns what a file is that begins like another one that loomrec writes.
fn kind_of(path: &Path) -> Option<&'static str> {
    // What is read of a pipe would be lost.
    if !std::fs::metadata(path).ok()?.is_file() {
        return None;
    }
    let mut beginning = Vec::new();
    File::open(path).ok()?.take(BEGINNING).read_to_end(&mut beginning).ok()?;
    beginning.retain(|byte| !byte.is_ascii_whitespace());
    let begins = |text: &str| beginning.starts_with(text.as_bytes());
    if begins("{\"loomrec\":") {
        Some("the receipt of a run")
    } else if begins("{\"_version\":") || begins("{\"_loomrec\":") {
        Some("a recording")
    } else {
        None
    }
}

fn read_failure(path: &Path, error: &io::Error) -> CommandFailure {
    let hint = "; name the file that --journal wrote";
    CommandFailure::new(RECORDING, format!("failed to read {}: {error}{hint}", path_line(path)))
}
