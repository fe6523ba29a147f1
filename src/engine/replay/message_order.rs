//! The order of the messages of an exchange.

use loomrec_recording::{MessageSender, RecordedMessage};

/// Returns the index of a sender's first message from this index on; the number of messages if there
/// is no more.
pub(super) fn index_of(sender: MessageSender, messages: &[RecordedMessage], from: usize) -> usize {
    let rest = messages.get(from..).unwrap_or_default();
    from + rest.iter().position(|message| message.sender == sender).unwrap_or(rest.len())
}
