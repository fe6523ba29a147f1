//! One event of a stream: as it was read, and as it is to be written.

use std::borrow::Cow;
use std::ops::Range;

use serde_json::Value;

/// One event of a stream, in its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamEvent<'a> {
    /// Its exact bytes, in the buffer.
    pub range: Range<usize>,
    /// Its type, where the framing carries one: the value of its last `event:` line,
    /// or the header `:event-type`, or that of an exception.
    pub name: Option<&'a str>,
    /// What it carries; `None` where it carries nothing (a comment, a stray blank line).
    pub data: Option<Cow<'a, [u8]>>,
    /// Whether its end was there; only a buffer's last event can lack it.
    pub finished: bool,
    /// Whether the framing itself says that this is an error, or that its bytes were
    /// changed on the way (a checksum).
    pub failed: bool,
}

impl StreamEvent<'_> {
    /// The data as JSON.
    pub fn json(&self) -> Option<Value> {
        serde_json::from_slice(self.data.as_deref()?).ok()
    }

    /// Whether the data is OpenAI's end marker, `[DONE]`.
    pub fn is_done(&self) -> bool {
        self.data.as_deref().is_some_and(|data| data.trim_ascii() == b"[DONE]")
    }
}

/// An event that is to be put into bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct EventFrame {
    /// Its type, for framings that carry one, where the stream names its events.
    pub name: Option<&'static str>,
    /// What it carries; `None` stands for `[DONE]`.
    pub data: Option<Value>,
    /// Whether it is an exception, for framings that tell these from events.
    pub exception: bool,
}

impl EventFrame {
    /// An event without a type.
    pub(crate) fn unnamed(data: Value) -> Self {
        Self { name: None, data: Some(data), exception: false }
    }

    /// An event of a type.
    pub(crate) fn named(name: &'static str, data: Value) -> Self {
        Self { name: Some(name), data: Some(data), exception: false }
    }

    /// An exception of a type, which ends the stream.
    pub fn exception(name: &'static str, data: Value) -> Self {
        Self { name: Some(name), data: Some(data), exception: true }
    }

    /// OpenAI's end marker.
    pub(crate) fn done() -> Self {
        Self { name: None, data: None, exception: false }
    }
}

/// Characters that JSON lets stand in text as they are, and at which some clients' readers
/// of lines (Python's, for one) end a line.
const LINE_ENDS: [(char, &str); 3] =
    [('\u{85}', "\\u0085"), ('\u{2028}', "\\u2028"), ('\u{2029}', "\\u2029")];

/// JSON that is one line for every reader of lines.
pub(super) fn one_line(data: &Value) -> String {
    let text = data.to_string();
    // Such characters stand in strings alone, where an escape says the same.
    LINE_ENDS.iter().fold(text, |text, (end, escape)| match text.contains(*end) {
        true => text.replace(*end, escape),
        false => text,
    })
}
