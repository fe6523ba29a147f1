//! Reading an answer with the functions in its operation's row.

use super::answer::Answer;
use super::framing::Framing;
use super::operation::Operation;

/// Returns what an answer says; `None` if the operation's answers are not read, or the bytes are
/// not such an answer (an error body, for one).
///
/// `framing` is that of a stream, `None` for a complete answer. From a stream that was cut, it
/// returns what arrived.
pub fn read(operation: Operation, framing: Option<Framing>, bytes: &[u8]) -> Option<Answer> {
    let row = operation.row();
    match framing {
        Some(framing) => row.read_stream?(framing, bytes),
        None => row.read?(bytes),
    }
}

/// Returns what a complete answer of this media type (without parameters) says, as [`read`] does.
/// It also reads transcriptions that are plain text instead of JSON.
pub fn read_complete(operation: Operation, media: &str, bytes: &[u8]) -> Option<Answer> {
    let text = operation.row().read_text.and_then(|read_text| read_text(media, bytes));
    text.or_else(|| read(operation, None, bytes))
}

impl Framing {
    /// The framing of the streams for a request for `operation` with this raw query.
    pub fn asked(operation: Operation, query: &str) -> Self {
        (operation.row().framing)(query, None)
    }

    /// The framing of an answer to such a request, by its media type and its first bytes; `None` if
    /// it is not a stream.
    pub fn answered(operation: Operation, media: &str, body: &[u8]) -> Option<Self> {
        let array = operation.streams_arrays()
            && media.eq_ignore_ascii_case("application/json")
            && body.trim_ascii_start().first() == Some(&b'[');
        if array { Some(Self::Array) } else { Self::of_media(media) }
    }
}
