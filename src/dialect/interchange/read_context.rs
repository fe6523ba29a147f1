//! The state and the errors that the readers of all formats share.

use std::ops::ControlFlow;

use super::body_presence::held_or_lost;
use super::bounded::{LIMIT, ReadMeter};
use super::exchange::FoundItem;
use super::format::ForeignFormat;
use crate::yaml::composer::YamlError;

/// Why a file could not be read completely.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// It is not of its format, or is cut.
    #[error("read it as {title}: {place}{problem}", title = .format.title())]
    Form {
        /// The format as which it was read.
        format: ForeignFormat,
        /// The last complete item; empty if it does not help.
        place: String,
        /// What is wrong, and where.
        problem: String,
    },
    /// A single exchange is too large.
    #[error(
        "read it as {title}: {place}one exchange takes more than {} MiB of it; leave that one out",
        LIMIT >> 20,
        title = .format.title()
    )]
    TooLarge {
        /// The format as which it was read.
        format: ForeignFormat,
        /// The last complete item.
        place: String,
    },
    /// The input could not be read.
    #[error("read it")]
    Io {
        /// The I/O error.
        source: std::io::Error,
    },
}

/// Callback for each item. Returns whether more is wanted.
pub(super) type ItemVisitor<'a> = &'a mut dyn FnMut(FoundItem) -> ControlFlow<()>;

/// The state while a file is being read.
pub(super) struct ReadContext<'a> {
    visit: ItemVisitor<'a>,
    meter: ReadMeter,
    /// The word for an exchange, for people.
    noun: &'static str,
    found: usize,
    stopped: bool,
}

impl<'a> ReadContext<'a> {
    pub(super) fn new(visit: ItemVisitor<'a>, meter: ReadMeter, noun: &'static str) -> Self {
        Self { visit, meter, noun, found: 0, stopped: false }
    }

    /// Records an item that is kept elsewhere.
    pub(super) fn note_found(&mut self) {
        self.meter.reset();
        self.found += 1;
    }

    /// Begins a new item, although nothing was found.
    pub(super) fn note_passed(&self) {
        self.meter.reset();
    }

    /// Returns the place of the next item.
    pub(super) fn next_place(&self) -> String {
        format!("{} {}", self.noun, self.found + 1)
    }

    /// Passes on an item. Returns whether more is wanted. A call that the file does not hold
    /// completely is left out.
    pub(super) fn report_item(&mut self, item: FoundItem) -> bool {
        self.meter.reset();
        self.found += 1;
        self.stopped |= (self.visit)(held_or_lost(item)).is_break();
        !self.stopped
    }
}

impl ReadContext<'_> {
    /// Returns the result of reading.
    pub(super) fn into_result(
        self,
        format: ForeignFormat,
        done: Result<(), ReadProblem>,
    ) -> Result<(), ReadError> {
        let Self { meter, noun, found, stopped, .. } = self;
        let Err(problem) = done else { return Ok(()) };
        if stopped {
            return Ok(());
        }
        let place = match found {
            0 => String::new(),
            _ if noun.is_empty() => String::new(),
            found => format!("after {noun} {found}: "),
        };
        Err(match problem {
            ReadProblem::TooLarge => ReadError::TooLarge { format, place },
            _ if meter.is_over() => ReadError::TooLarge { format, place },
            ReadProblem::Io(source) => ReadError::Io { source },
            ReadProblem::Form(problem) => {
                ReadError::Form { format, place, problem: unquote_message(&problem) }
            }
        })
    }
}

/// The error of a reader of one format.
#[derive(Debug)]
pub(super) enum ReadProblem {
    /// The file is not of the format.
    Form(String),
    /// A single exchange is too large.
    TooLarge,
    /// The input could not be read.
    Io(std::io::Error),
}

impl From<YamlError> for ReadProblem {
    fn from(error: YamlError) -> Self {
        match error {
            YamlError::Form(problem) => Self::Form(problem),
            YamlError::TooLarge => Self::TooLarge,
            YamlError::Io(source) => Self::Io(source),
        }
    }
}

impl From<serde_json::Error> for ReadProblem {
    fn from(error: serde_json::Error) -> Self {
        if error.is_io() { Self::Io(error.into()) } else { Self::Form(error.to_string()) }
    }
}

/// Returns a reader's message on one line, shortened, and without quotes from the file, which may
/// be credentials.
fn unquote_message(message: &str) -> String {
    let (mut out, mut rest) = (String::new(), message);
    while let Some(at) = rest.find("string \"") {
        out.push_str(&rest[..at + "string".len()]);
        let quoted = &rest[at + "string \"".len()..];
        rest = match quoted.rfind("\", expected").or_else(|| quoted.rfind('"')) {
            Some(end) => &quoted[end + 1..],
            None => "",
        };
    }
    out.push_str(rest);
    let line: Vec<&str> = out.split_whitespace().collect();
    line.join(" ").chars().take(400).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_do_not_quote_what_stands_in_a_file() {
        let told = "invalid type: string \"Bearer a\\\"b\", expected a map at line 3 column 4";
        assert_eq!(
            unquote_message(told),
            "invalid type: string, expected a map at line 3 column 4"
        );
        assert_eq!(unquote_message("a\n b"), "a b");
        assert_eq!(unquote_message("string \"open"), "string");
    }
}
