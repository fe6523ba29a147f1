//! Reads what an answer says, as its operation's line in the table has it.

use super::answer::Answer;
use super::operation::Operation;
use super::{Framing, openai, table};

/// What an answer says, or `None` where the operation is not one that is read or
/// the bytes are not such an answer (an error body, for one).
///
/// `framing` is that of a stream, `None` for a complete answer. A stream that was
/// cut gives what arrived of it.
pub fn read(operation: Operation, framing: Option<Framing>, bytes: &[u8]) -> Option<Answer> {
    let wire = table::wire(operation);
    match framing {
        Some(framing) => wire.read_stream?(framing, bytes),
        None => wire.read?(bytes),
    }
}

/// What a complete answer of this media type (without parameters) says: [`read`], and
/// transcriptions that are no JSON but the very text.
pub fn read_complete(operation: Operation, media: &str, bytes: &[u8]) -> Option<Answer> {
    let plain = || openai::audio::plain(media, bytes);
    let plain = if operation == Operation::Transcription { plain() } else { None };
    plain.or_else(|| read(operation, None, bytes))
}
