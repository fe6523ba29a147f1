//! Files with a JSON text on each line.

use std::io::{BufRead, BufReader, Read};

use serde::de::DeserializeOwned;

use super::bounded::LIMIT;
use super::read_context::ReadProblem;

/// One line of a file.
pub(super) struct FileLine<'a> {
    number: usize,
    bytes: &'a [u8],
}

/// The lines of a file in order.
pub(super) struct FileLines;

impl FileLines {
    /// Passes each line that is not empty to `visit`, until it wants no more. The meter of `input`
    /// limits the length of a line.
    pub(super) fn visit(
        input: impl Read,
        mut visit: impl FnMut(&FileLine<'_>) -> Result<bool, ReadProblem>,
    ) -> Result<(), ReadProblem> {
        let mut input = BufReader::new(input);
        let (mut bytes, mut number) = (Vec::new(), 0);
        loop {
            bytes.clear();
            // The meter of the input stops a line without an end. A line that is too long itself is
            // rejected here, whatever was read ahead.
            let read = input.by_ref().take(LIMIT + 1).read_until(b'\n', &mut bytes);
            if read.map_err(ReadProblem::Io)? == 0 {
                return Ok(());
            }
            if u64::try_from(bytes.len()).is_ok_and(|length| length > LIMIT) {
                return Err(ReadProblem::TooLarge);
            }
            number += 1;
            let mut text = bytes.as_slice();
            if number == 1 {
                text = text.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(text);
            }
            let text = text.trim_ascii();
            if !text.is_empty() && !visit(&FileLine { number, bytes: text })? {
                return Ok(());
            }
        }
    }
}

impl FileLine<'_> {
    /// Returns its place for people.
    pub(super) fn place(&self) -> String {
        format!("line {}", self.number)
    }

    /// Parses its content.
    pub(super) fn parse<T: DeserializeOwned>(&self) -> Result<T, ReadProblem> {
        serde_json::from_slice(self.bytes).map_err(|error| {
            let told = error.to_string();
            // The parser knows only this line, so its line number is always 1.
            let told = told.split(" at line 1 column").next().unwrap_or_default();
            ReadProblem::Form(format!("line {}, column {}: {told}", self.number, error.column()))
        })
    }

    /// Returns an error in this line.
    pub(super) fn problem(&self, what: &str) -> ReadProblem {
        ReadProblem::Form(format!("line {}: {what}", self.number))
    }
}
