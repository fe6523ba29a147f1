//! The reader of a journal, line by line, and the check whether a file is one.

use std::fs::File;
use std::io::{self, BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::exit::{CommandFailure, RECORDING};
use super::terminal::path_line;

/// The longest line that is read.
const LONGEST: u64 = 16 << 20;

/// How many bytes of a file show what it is.
const BEGINNING: u64 = 256;

/// The result of a read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JournalRead {
    /// A line, which [`JournalReader::last_line`] returns.
    Line,
    /// The incomplete last line of a file whose run was killed.
    Cut,
    /// Nothing more.
    End,
}

/// A journal that is being read.
pub struct JournalReader {
    path: PathBuf,
    file: BufReader<File>,
    /// The number of the line that was read last, from 1.
    number: u64,
    line: Vec<u8>,
}

impl JournalReader {
    /// Opens a journal.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn open(path: &Path) -> Result<Self, CommandFailure> {
        let file = loomrec_os::open_input(path).map_err(|error| read_failure(path, &error))?;
        let file = BufReader::with_capacity(64 << 10, file);
        Ok(Self { path: path.to_owned(), file, number: 0, line: Vec::new() })
    }

    /// Reads the next line.
    ///
    /// # Errors
    /// A file that cannot be read; a line that is too long.
    pub fn read(&mut self) -> Result<JournalRead, CommandFailure> {
        self.line.clear();
        let read = (&mut self.file).take(LONGEST).read_until(b'\n', &mut self.line);
        read.map_err(|error| read_failure(&self.path, &error))?;
        if self.line.is_empty() {
            return Ok(JournalRead::End);
        }
        self.number += 1;
        let is_whole = self.line.ends_with(b"\n");
        if !is_whole && self.line.len() as u64 >= LONGEST {
            return Err(self.no_line("it is longer than 16 MiB"));
        }
        // A run that was killed may have left half a line.
        if !is_whole && self.number > 1 && is_cut(&self.line) {
            return Ok(JournalRead::Cut);
        }
        Ok(JournalRead::Line)
    }

    /// Returns the line that was read last.
    pub fn last_line(&self) -> &[u8] {
        &self.line
    }

    /// Returns the place of that line.
    pub fn line_place(&self) -> String {
        format!("{}, line {}", path_line(&self.path), self.number)
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
        let place = self.line_place();
        CommandFailure::usage(format!("{place}: this is not a line of a journal: {why}"))
    }
}

/// Whether a file begins as a journal does: with a line that is a JSON object with a version and an
/// outcome. An empty file counts as a journal whose run has just begun if its name ends in
/// `.jsonl`.
pub fn is_journal(path: &Path) -> bool {
    let is_empty = std::fs::metadata(path).is_ok_and(|found| found.is_file() && found.len() == 0);
    if is_empty && path.extension().is_some_and(|ending| ending == "jsonl") {
        return true;
    }
    let first = || -> io::Result<Vec<u8>> {
        let mut line = Vec::new();
        let file = File::open(path)?;
        if file.metadata()?.is_file() {
            BufReader::new(file.take(LONGEST)).read_until(b'\n', &mut line)?;
        }
        Ok(line)
    };
    let line: Option<Value> = first().ok().and_then(|line| serde_json::from_slice(&line).ok());
    line.is_some_and(|line| line["v"].is_number() && line["outcome"].is_string())
}

/// Whether a line is the beginning of one.
fn is_cut(line: &[u8]) -> bool {
    let read: Result<serde::de::IgnoredAny, _> = serde_json::from_slice(line);
    read.is_err_and(|error| error.is_eof())
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn journal_begins_with_a_line_or_is_empty_and_has_the_ending() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let line = "{\"v\":1,\"seq\":1,\"outcome\":\"served\"}\n";
        for (name, text, expected) in [
            ("run.jsonl", "", true),
            ("run.json", "", false),
            ("calls", line, true),
            ("other.jsonl", "{\"v\":1}\n", false),
            ("recording.json", "{\"_version\": 2}\n", false),
        ] {
            std::fs::write(path(name), text).unwrap();
            assert_eq!(is_journal(&path(name)), expected, "{name}");
        }
        assert!(!is_journal(&path("gone.jsonl")) && !is_journal(folder.path()));
    }
}
