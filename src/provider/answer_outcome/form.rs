//! The form of an answer by its bytes. Its media type only counts where the bytes say nothing.

use serde_json::Value;

use super::rules::ExpectedBody;
use crate::framing::{Framing, is_event_stream};
use crate::lone_half::readable_json;
use crate::operation::Operation;

/// The fields with which server-sent events begin, and the beginning of a comment.
const SSE_FIELDS: [&[u8]; 5] = [b"data:", b"event:", b"id:", b"retry:", b":"];

/// The bytes of a body without a byte order mark and the blanks around them.
pub(crate) fn trimmed_body(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii()
}

/// Whether a body begins as server-sent events.
pub(crate) fn begins_as_events(start: &[u8]) -> bool {
    SSE_FIELDS.iter().any(|field| start.starts_with(field))
}

/// Whether the form of the operation's answers is known: JSON, or a stream of it.
pub(crate) fn has_known_form(operation: Operation) -> bool {
    let outcome = &operation.row().outcome;
    outcome.event.is_some() && outcome.body == ExpectedBody::Json
}

/// The framing of an answer; `None` if it is not a stream that the operation is known to send.
pub(crate) fn stream_framing(operation: Operation, media: &str, bytes: &[u8]) -> Option<Framing> {
    let row = operation.row();
    row.outcome.event?;
    let start = trimmed_body(bytes);
    if row.outcome.body != ExpectedBody::Json {
        // Sound and texts may begin in any way.
        let is_other = matches!(start.first(), Some(b'<' | b'{'));
        return Framing::of_media(media).filter(|_| !is_other);
    }
    if begins_as_events(start) {
        return Some(Framing::Sse);
    }
    if is_event_stream(bytes) {
        return Some(Framing::EventStream);
    }
    match start.first() {
        Some(b'[') if row.streams_arrays => Some(Framing::Array),
        Some(b'{') => {
            (has_lines(operation, media) && !is_one_document(start)).then_some(Framing::Lines)
        }
        Some(b'<' | b'[' | b'"') | None => None,
        Some(_) => Framing::of_media(media).filter(|framing| *framing != Framing::Array),
    }
}

/// Whether the operation, or the media type, has a JSON value on each line.
fn has_lines(operation: Operation, media: &str) -> bool {
    (operation.row().framing)("", None) == Framing::Lines
        || Framing::of_media(media) == Some(Framing::Lines)
}

/// Whether the text is one JSON value, in however many lines.
fn is_one_document(text: &[u8]) -> bool {
    let text = readable_json(text);
    loomrec_identity::parse(&text).is_ok() || serde_json::from_slice::<Value>(&text).is_ok()
}
