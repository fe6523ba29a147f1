//! One event of a stream, as it was read and as it is written.

use std::borrow::Cow;
use std::ops::Range;

use serde_json::Value;

/// One event of a stream, in its bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamEvent<'a> {
    /// Its exact bytes, in the buffer.
    pub range: Range<usize>,
    /// Its type, if the framing has one: the value of its last `event:` line, or of the header
    /// `:event-type` or that of an exception.
    pub name: Option<&'a str>,
    /// Its data; `None` if it has none (a comment, a stray blank line).
    pub data: Option<Cow<'a, [u8]>>,
    /// Whether its end was found; only the last event in a buffer can lack it.
    pub finished: bool,
    /// Whether the framing marks it as an error, or a checksum shows that its bytes were changed.
    pub failed: bool,
}

impl StreamEvent<'_> {
    /// An event without a name or data, before its place in a buffer is known.
    pub(super) fn empty() -> Self {
        Self { range: 0..0, name: None, data: None, finished: false, failed: false }
    }

    /// The data as JSON.
    pub fn json_data(&self) -> Option<Value> {
        serde_json::from_slice(self.data.as_deref()?).ok()
    }

    /// Whether the data is OpenAI's end marker, `[DONE]`.
    pub fn is_done(&self) -> bool {
        self.data.as_deref().is_some_and(|data| data.trim_ascii() == b"[DONE]")
    }
}

/// An event that is to be encoded.
#[derive(Clone, Debug, PartialEq)]
pub struct EventFrame {
    /// Its type, if the framing has types and the stream names its events.
    pub name: Option<&'static str>,
    /// Its data; `None` stands for `[DONE]`.
    pub data: Option<Value>,
    /// Whether it is an exception, if the framing distinguishes exceptions from events.
    pub exception: bool,
}

impl EventFrame {
    /// An event without a type.
    pub(crate) fn unnamed(data: Value) -> Self {
        Self { name: None, data: Some(data), exception: false }
    }

    /// An event with a type.
    pub(crate) fn named(name: &'static str, data: Value) -> Self {
        Self { name: Some(name), data: Some(data), exception: false }
    }

    /// An exception with a type; it ends the stream.
    pub fn exception(name: &'static str, data: Value) -> Self {
        Self { name: Some(name), data: Some(data), exception: true }
    }

    /// OpenAI's end marker.
    pub(crate) fn done_marker() -> Self {
        Self { name: None, data: None, exception: false }
    }
}

/// Characters that JSON allows unescaped in strings, and that some clients' line readers (Python's,
/// for one) take for the end of a line.
const LINE_ENDS: [(char, &str); 3] =
    [('\u{85}', "\\u0085"), ('\u{2028}', "\\u2028"), ('\u{2029}', "\\u2029")];

/// JSON that is one line for every line reader.
pub(super) fn one_line(data: &Value) -> String {
    let text = data.to_string();
    // Such characters only occur in strings, where an escape means the same.
    LINE_ENDS.iter().fold(text, |text, (end, escape)| match text.contains(*end) {
        true => text.replace(*end, escape),
        false => text,
    })
}
