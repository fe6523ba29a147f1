//! The `loomrec journal` command: shows the calls in journals, filtered.
//!
//! Journals are read line by line, so memory use does not grow with them.

mod row;

use std::io::{self, BufWriter, ErrorKind, Write};
use std::ops::ControlFlow;
use std::path::Path;

use super::args::{JournalArgs, LogFormat};
use loomrec_cli::exit::CommandFailure;
use loomrec_cli::journal_lines::{JournalRead, JournalReader};
use loomrec_cli::output::{Output, stdout_failure};
use loomrec_cli::terminal;
pub(super) use row::JournalRow;
use row::RowFilter;

/// Runs the command.
///
/// # Errors
/// A file that cannot be read, or is not a journal, with the line and the reason; a stdout that
/// cannot be written.
pub fn run(args: &JournalArgs) -> Result<u8, CommandFailure> {
    let output = Output::new(LogFormat::Human, false, false);
    let mut view = JournalView::new(args);
    for file in &args.files {
        if read_rows(file, &output, |row, text| view.add_line(row, text))?.is_break() {
            return Ok(0);
        }
    }
    check_written(view.out.flush()).map(|_| 0)
}

/// Reads the rows of a journal until one of them ends the reading. Leaves out an incomplete last
/// line, with a warning.
///
/// # Errors
/// A file that cannot be read, or is not a journal; the error of `add_row`.
pub(super) fn read_rows(
    path: &Path,
    output: &Output,
    mut add_row: impl FnMut(&JournalRow, &[u8]) -> Result<ControlFlow<()>, CommandFailure>,
) -> Result<ControlFlow<()>, CommandFailure> {
    let mut reader = JournalReader::open(path)?;
    loop {
        match reader.read()? {
            JournalRead::Line => {}
            JournalRead::Cut => {
                output.warning(&format!(
                    "the last line of {} is cut off, and left out: the run did not end well",
                    path.display()
                ));
                continue;
            }
            JournalRead::End => return Ok(ControlFlow::Continue(())),
        }
        let row = JournalRow::parse(reader.last_line()).map_err(|why| reader.no_line(&why))?;
        if add_row(&row, reader.last_line())?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
}

/// Returns whether there is a reader of stdout left to write for.
///
/// # Errors
/// Another error of writing.
fn check_written(written: io::Result<()>) -> Result<ControlFlow<()>, CommandFailure> {
    match written {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(ControlFlow::Break(())),
        other => other.map(ControlFlow::Continue).map_err(stdout_failure),
    }
}

/// The filter and the output of lines.
struct JournalView<'a> {
    sought: RowFilter<'a>,
    json: bool,
    width: Option<usize>,
    out: BufWriter<io::Stdout>,
}

impl<'a> JournalView<'a> {
    fn new(args: &'a JournalArgs) -> Self {
        Self {
            sought: RowFilter::new(args),
            json: args.json,
            width: terminal::width(),
            out: BufWriter::new(io::stdout()),
        }
    }

    /// Shows a line. `text` is its original text.
    fn add_line(
        &mut self,
        line: &JournalRow,
        text: &[u8],
    ) -> Result<ControlFlow<()>, CommandFailure> {
        if !self.sought.is_match(line) {
            return Ok(ControlFlow::Continue(()));
        }
        check_written(match self.json {
            true => {
                let text = String::from_utf8_lossy(text.trim_ascii());
                writeln!(self.out, "{}", terminal::printable_json(&text))
            }
            false => writeln!(self.out, "{}", line.format_row(self.width)),
        })
    }
}

#[cfg(test)]
#[path = "journal/tests.rs"]
pub(super) mod tests;
