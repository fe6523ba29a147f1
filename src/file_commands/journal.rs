//! The `loomrec journal` command: shows the calls in journals, filtered, as they are written, or
//! summed up.
//!
//! Journals are read line by line, so memory use does not grow with them.

mod row;
mod sum;

use std::collections::HashSet;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::PathBuf;
use std::time::Duration;

use super::args::{JournalArgs, LogFormat};
use loomrec_cli::exit::CommandFailure;
use loomrec_cli::journal_lines::{FollowedFile, NextLine};
use loomrec_cli::output::{Output, print, stdout_failure};
use loomrec_cli::terminal;
use loomrec_telemetry::journal::part_paths;
use row::{JournalRow, RowFilter};
use sum::JournalTotals;

/// How often a followed journal is checked for new lines.
const CHECK_INTERVAL: Duration = Duration::from_millis(100);

/// Runs the command.
///
/// # Errors
/// A file that cannot be read, or is not a journal, with the line and the reason; a stdout that
/// cannot be written.
pub fn run(args: &JournalArgs) -> Result<u8, CommandFailure> {
    let output = Output::new(LogFormat::Human, false, false);
    let mut show = JournalView::new(args);
    let mut read = HashSet::new();
    let mut tails = Vec::new();
    for file in &args.files {
        for path in part_paths(file) {
            // A shell pattern may match an older part as well as the journal it belongs to.
            let place = std::fs::canonicalize(&path).unwrap_or_else(|_| path.clone());
            if !read.insert(place) {
                continue;
            }
            let last = path == *file;
            let mut tail = FollowedFile::open(&path)?;
            let end = !(args.follow && last);
            if !all_of(&mut tail, end, &mut show, &output)? {
                return Ok(0);
            }
            if !end {
                tails.push((file.clone(), tail));
            }
        }
    }
    if args.follow { follow_files(tails, &mut show, &output) } else { show.finish() }
}

/// Shows the rest of a file from where reading stopped. Returns `false` if the reader of stdout has
/// gone. At the `end` of a file, an incomplete line is left out with a warning.
fn all_of(
    tail: &mut FollowedFile,
    end: bool,
    show: &mut JournalView<'_>,
    output: &Output,
) -> Result<bool, CommandFailure> {
    loop {
        let text = match tail.next(end)? {
            NextLine::Line(text) => text,
            NextLine::Cut => {
                let name = tail.path().display();
                output.warning(&format!(
                    "the last line of {name} is cut off, and left out: the run did not end well"
                ));
                break;
            }
            NextLine::End => break,
        };
        let shown = match JournalRow::parse(text) {
            Ok(line) => show.add_line(&line, text),
            Err(why) => return Err(tail.no_line(&why)),
        };
        match shown {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => return Ok(false),
            other => other.map_err(stdout_failure)?,
        }
    }
    match show.out.flush() {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        other => other.map(|()| true).map_err(stdout_failure),
    }
}

/// Shows new lines as they are written, until the reader of stdout has gone.
fn follow_files(
    mut tails: Vec<(PathBuf, FollowedFile)>,
    show: &mut JournalView<'_>,
    output: &Output,
) -> Result<u8, CommandFailure> {
    loop {
        std::thread::sleep(CHECK_INTERVAL);
        if loomrec_os::is_stdout_closed() {
            return Ok(0);
        }
        for (file, tail) in &mut tails {
            let moved = tail.has_moved(file);
            if !all_of(tail, false, show, output)? {
                return Ok(0);
            }
            for path in moved.into_iter().flatten() {
                // It may be gone again, or not exist yet.
                let Ok(next) = FollowedFile::open(&path) else { break };
                *tail = next;
                if !all_of(tail, false, show, output)? {
                    return Ok(0);
                }
            }
        }
    }
}

/// The filter and the output of lines.
struct JournalView<'a> {
    sought: RowFilter<'a>,
    sum: Option<JournalTotals>,
    json: bool,
    width: Option<usize>,
    out: BufWriter<io::Stdout>,
}

impl<'a> JournalView<'a> {
    fn new(args: &'a JournalArgs) -> Self {
        Self {
            sought: RowFilter::new(args),
            sum: args.sum.then(JournalTotals::default),
            json: args.json,
            width: terminal::width(),
            out: BufWriter::new(io::stdout()),
        }
    }

    /// Shows or counts a line. `text` is its original text.
    fn add_line(&mut self, line: &JournalRow, text: &[u8]) -> io::Result<()> {
        if !self.sought.is_match(line) {
            return Ok(());
        }
        if let Some(sum) = &mut self.sum {
            sum.add(line);
            return Ok(());
        }
        if self.json {
            let text = String::from_utf8_lossy(text.trim_ascii());
            return writeln!(self.out, "{}", terminal::printable_json(&text));
        }
        writeln!(self.out, "{}", line.format_row(self.width))
    }

    fn finish(self) -> Result<u8, CommandFailure> {
        match self.sum {
            None => Ok(0),
            Some(sum) if self.json => print(&sum.to_json_text()),
            Some(sum) => print(&sum.to_text(self.width)),
        }
    }
}

#[cfg(test)]
#[path = "journal/tests.rs"]
mod tests;
