//! One side of a comparison: an entry, its name, and the call it recorded.

use loomrec_identity::RequestParts;
use loomrec_provider::{Answer, Operation, RecognisedCall};
use loomrec_recording::{CodedBody, Entry, EntryName, encoding};

/// The most plain bytes of a compressed body.
const DECODED: usize = encoding::LARGEST;

/// One of two calls that are compared.
#[derive(Debug)]
pub struct ComparedSide<'e> {
    /// The name of the entry.
    pub name: &'e EntryName,
    /// The entry.
    pub entry: &'e Entry,
    /// The call of its request, if the request is recorded.
    pub call: Option<RecognisedCall>,
}

impl<'e> ComparedSide<'e> {
    /// Returns the side for `entry`, which is kept under `name`.
    pub fn from_entry(name: &'e EntryName, entry: &'e Entry) -> Self {
        let call = entry.recognise_call();
        Self { name, entry, call }
    }

    /// Returns the operation; [`Operation::OTHER`] if it is not known.
    pub(super) fn operation(&self) -> Operation {
        self.call.as_ref().map_or(Operation::OTHER, |call| call.operation)
    }

    /// Returns the parts that the key of its request is made of; `None` if it has no request.
    pub(super) fn key_parts(&self) -> Option<RequestParts<'_>> {
        self.entry.key_parts(self.call.as_ref()?)
    }

    /// Whether its answer was a stream.
    pub(super) fn is_streamed(&self) -> bool {
        let call = self.call.as_ref();
        call.is_some_and(|call| call.streamed) || self.entry.received_framing(call).is_some()
    }

    /// Returns the body of its answer; `None` if no response is recorded.
    pub(super) fn answer_body(&self) -> Option<CodedBody> {
        self.entry.coded_body(DECODED)
    }

    /// Whether its entry has a summary of the answer.
    pub(super) fn has_summary(&self) -> bool {
        let entry = self.entry;
        entry.content.as_ref().is_some_and(|content| !content.is_empty())
            || !entry.tool_calls.is_empty()
            || !entry.embeddings.is_empty()
            || entry.finish_reason.is_some()
            || entry.usage.is_some()
    }

    /// Returns the vectors of its answer. An entry with a response keeps them in the response.
    pub(super) fn answer_vectors(&self) -> Vec<Vec<f64>> {
        let is_read = self.operation().makes_vectors() && self.entry.embeddings.is_empty();
        let Some(media) = self.entry.answer_media().filter(|_| is_read) else {
            return self.entry.embeddings.clone();
        };
        let body = self.answer_body();
        let plain = body.as_ref().and_then(CodedBody::plain_bytes);
        let read = |plain| loomrec_provider::read_complete(self.operation(), media, plain);
        plain.and_then(read).map_or_else(Vec::new, |Answer { embeddings, .. }| embeddings)
    }

    /// Returns the value of the first header of its answer with this name; `None` if the answer has no
    /// such header, or its value is empty.
    pub(super) fn answer_header(&self, name: &str) -> Option<&'e str> {
        let found = self.entry.answer_headers().iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }
}
