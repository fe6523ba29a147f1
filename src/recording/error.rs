//! Errors of a recording's text: what is wrong, where, and how to repair it.

use serde::de::IgnoredAny;

use super::entry_field::EntryError;
use loomrec_identity::typed_field::FieldError;

/// Why this version cannot use a recording's text. Each message reads after the recording's name.
/// It gives the place, the problem and a remedy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum FormatError {
    /// The file has no text.
    #[error("the file is empty: delete it, and record again")]
    Empty,
    /// It begins with a byte-order mark.
    #[error("the file begins with a byte-order mark: save it as UTF-8 without one")]
    ByteOrderMark,
    /// Broken or cut JSON.
    #[error(
        "line {line}, column {column}: {message}; the file is damaged or cut: \
         restore it, or delete it and record again"
    )]
    Json {
        /// Counted from 1.
        line: usize,
        /// Counted from 1.
        column: usize,
        /// What is wrong there.
        message: String,
    },
    /// Git could not merge two versions of the file.
    #[error(
        "line {line}: the file has conflict markers of git: restore one side, merge the two with \
         loomrec merge, or let loomrec merge --git do it"
    )]
    Conflict {
        /// The line of the first marker, counted from 1.
        line: usize,
    },
    /// It is a file of another kind.
    #[error("it is not a recording: it {found}; {remedy}")]
    NotRecording {
        /// What it is, or how it begins, in words that follow "it".
        found: String,
        /// What helps.
        remedy: &'static str,
    },
    /// It is valid JSON, but not an object.
    #[error(
        "the file holds {found}: it must be a JSON object of entries by step id or \
         request hash; name a recording"
    )]
    NotObject {
        /// What it is instead.
        found: String,
    },
    /// The version of the file is below 2.
    #[error("`_version` is {found}: 2 is the oldest that is understood; record it again")]
    OldVersion {
        /// The version.
        found: String,
    },
    /// A newer loomrec wrote it.
    #[error("it has {found}, which a newer loomrec wrote: update loomrec to use it")]
    NewerFormat {
        /// The format that is too new.
        found: String,
    },
    /// Its metadata has the wrong shape.
    #[error("{} {}: fix it, or record again", .0.place, .0.problem.requirement())]
    Meta(FieldError),
    /// A key occurs twice.
    #[error(
        "line {line}: the key {key:?} occurs twice, and only one of them could be replayed; rename \
         or remove one"
    )]
    DuplicateKey {
        /// The key.
        key: String,
        /// The line of its second occurrence, counted from 1.
        line: usize,
    },
    /// A value is neither an entry nor a list of entries.
    #[error(
        "line {line}: {key:?} is {found}, but an entry must be an object, or a list of them under \
         a step id; fix or remove it"
    )]
    NotEntry {
        /// The key.
        key: String,
        /// The line of the key.
        line: usize,
        /// What the value is instead.
        found: String,
    },
    /// A request hash has a list, which the format forbids.
    #[error(
        "line {line}: {key:?} is a list, but the takes of a request hash are `HASH`, `HASH#2`, …; \
         only a step id may have a list"
    )]
    ListUnderHash {
        /// The hash.
        key: String,
        /// The line of the key.
        line: usize,
    },
    /// A field of an entry has the wrong type.
    #[error("line {line}: in {key:?}, take {take}, {problem}; fix or remove the entry")]
    Entry {
        /// The entry's key.
        key: String,
        /// The line of the key.
        line: usize,
        /// Which take of a list it is; 1 if it is in no list.
        take: usize,
        /// What is wrong.
        problem: Box<EntryError>,
    },
}

impl FormatError {
    /// Returns what a message calls the file, before its path.
    pub fn path_prefix(&self) -> &'static str {
        match self {
            Self::NotRecording { .. } => "",
            _ => "the recording ",
        }
    }
}

/// How many bytes of a line show whether it is a marker.
pub const MARKER_LENGTH: usize = 8;

impl FormatError {
    /// Returns the error with what the line of it shows, from the first bytes of that line: it may be
    /// a marker that git writes where two versions differ.
    #[must_use]
    pub fn on_line(self, beginning: &[u8]) -> Self {
        let is_marker = [&b"<<<<<<< "[..], b"||||||| ", b"=======", b">>>>>>> "]
            .iter()
            .any(|marker| beginning.starts_with(marker));
        match self {
            Self::Json { line, .. } if is_marker => Self::Conflict { line },
            other => other,
        }
    }
}

/// Reads all of a text, and returns why it is not JSON; `None` if it is.
pub(super) fn json_error(text: &[u8]) -> Option<FormatError> {
    if let Some(error) = no_text(text) {
        return Some(error);
    }
    let text = match std::str::from_utf8(text) {
        Ok(text) => text,
        Err(error) => {
            let (line, column) = line_and_column(text, error.valid_up_to());
            return Some(not_utf8(line, column));
        }
    };
    let error = serde_json::from_str::<IgnoredAny>(text).err()?;
    let line = text.split('\n').nth(error.line().saturating_sub(1)).unwrap_or_default();
    Some(syntax_error(&error).on_line(line.as_bytes()))
}

/// Returns the error of a text that begins with a byte-order mark, or that holds only white space.
pub fn no_text(text: &[u8]) -> Option<FormatError> {
    if text.starts_with(b"\xef\xbb\xbf") {
        return Some(FormatError::ByteOrderMark);
    }
    text.iter().all(u8::is_ascii_whitespace).then_some(FormatError::Empty)
}

/// Returns the error for the place where the JSON parser stopped.
pub fn syntax_error(error: &serde_json::Error) -> FormatError {
    FormatError::Json { line: error.line(), column: error.column(), message: plain_message(error) }
}

/// Returns the error for bytes that are not UTF-8 at this line and column, both counted from 1.
pub fn not_utf8(line: usize, column: usize) -> FormatError {
    FormatError::Json { line, column, message: "the bytes are not UTF-8".to_owned() }
}

/// Returns the error for a text that is JSON but not an object. It looks only at the first byte.
pub fn not_object(text: &[u8]) -> FormatError {
    let found = match text.trim_ascii_start().first() {
        Some(b'[') => "an array",
        Some(b'"') => "a string",
        Some(b't' | b'f') => "a boolean",
        Some(b'n') => "null",
        Some(b'-' | b'0'..=b'9') => "a number",
        _ => "not an object",
    };
    FormatError::NotObject { found: found.to_owned() }
}

/// Returns the parser's message without the position at its end.
pub(super) fn plain_message(error: &serde_json::Error) -> String {
    let message = error.to_string();
    match message.rfind(" at line ") {
        Some(end) => message[..end].to_owned(),
        None => message,
    }
}

/// Returns the line and the column of an offset, both counted from 1.
pub(super) fn line_and_column(text: &[u8], offset: usize) -> (usize, usize) {
    let before = &text[..offset.min(text.len())];
    let line = memchr::memchr_iter(b'\n', before).count() + 1;
    let start = memchr::memrchr(b'\n', before).map_or(0, |at| at + 1);
    (line, before.len() - start + 1)
}
