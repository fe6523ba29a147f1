//! Reading an answer with the functions in its operation's row.

use super::answer::Answer;
use super::answer_outcome::form;
use super::framing::Framing;
use super::lone_half::HalfMarks;
use super::operation::Operation;

/// Returns what an answer says; `None` if the operation's answers are not read, or the bytes are
/// not such an answer (an error body, for one).
///
/// `framing` is that of a stream, `None` for a complete answer. From a stream that was cut, it
/// returns what arrived.
///
/// Halves of characters are joined with their other halves; those that stay alone are U+FFFD.
pub fn read_answer(operation: Operation, framing: Option<Framing>, bytes: &[u8]) -> Option<Answer> {
    let Some((marks, marked)) = HalfMarks::mark_halves(bytes) else {
        return read_plain(operation, framing, bytes);
    };
    let mut answer = read_plain(operation, framing, &marked)?;
    settle_answer(marks, &mut answer);
    Some(answer)
}

/// Removes the stand-ins for halves of characters from what was read.
fn settle_answer(marks: HalfMarks, answer: &mut Answer) {
    answer.content = marks.settle_text(&answer.content);
    for word in [&mut answer.model, &mut answer.finish_reason].into_iter().flatten() {
        *word = marks.settle_text(word);
    }
    for call in &mut answer.tool_calls {
        call.id = marks.settle_text(&call.id);
        call.name = marks.settle_text(&call.name);
        marks.settle_value(&mut call.arguments);
    }
}

/// Reads an answer in which no half of a character is alone.
fn read_plain(operation: Operation, framing: Option<Framing>, bytes: &[u8]) -> Option<Answer> {
    let row = operation.row();
    match framing {
        Some(framing) => row.read_stream?(framing, bytes),
        None => row.read?(bytes),
    }
}

/// Returns what a complete answer of this media type (without parameters) says, as [`read_answer`]
/// does. It also reads transcriptions that are plain text instead of JSON.
pub fn read_complete(operation: Operation, media: &str, bytes: &[u8]) -> Option<Answer> {
    let text = operation.row().read_text.and_then(|read_text| read_text(media, bytes));
    text.or_else(|| read_answer(operation, None, bytes))
}

impl Framing {
    /// The framing of the streams for a request for `operation` with this raw query.
    pub fn from_request(operation: Operation, query: &str) -> Self {
        (operation.row().framing)(query, None)
    }

    /// The framing of an answer to such a request; `None` if it is not a stream. The bytes decide:
    /// gateways send streams of events as `application/json`, as `text/plain` or without a media
    /// type. The media type counts where the bytes say nothing, and where the operation's answers
    /// are not known.
    pub fn from_answer(operation: Operation, media: &str, body: &[u8]) -> Option<Self> {
        let by_media = Self::of_media(media);
        let is_document =
            form::has_known_form(operation) && form::trimmed_body(body).starts_with(b"{");
        form::stream_framing(operation, media, body).or(match by_media {
            // A stream may have one line.
            Some(Self::Lines) => Some(Self::Lines),
            _ if is_document => None,
            _ => by_media,
        })
    }

    /// Whether an answer begins as server-sent events, whatever its media type is.
    pub fn begins_as_events(operation: Operation, start: &[u8]) -> bool {
        form::has_known_form(operation) && form::begins_as_events(form::trimmed_body(start))
    }
}
