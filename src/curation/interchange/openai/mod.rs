//! OpenAI's files with a JSON text on each line: batches, and conversations for training.

mod batch;
mod chat;

use bytes::Bytes;
use serde_json::Value;

pub use batch::read_requests;
pub(super) use batch::{
    answer as batch_answer, complete, read as read_batch, request as batch_request,
};
pub(super) use chat::{entry as chat_example, read as read_chat};

/// Returns a body as it is sent.
fn body(value: &Value) -> Bytes {
    value.to_string().into()
}

#[cfg(test)]
mod tests;
