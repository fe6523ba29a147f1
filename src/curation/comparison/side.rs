//! One side of a comparison: an entry, its name, and the call it recorded.

use loomrec_provider::{Answer, Framing, Operation, RecognisedCall};
use loomrec_recording::{Entry, EntryName, RecordedResponse, encoding};

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
        let call = entry.request.as_ref().map(|request| request.recognise_call());
        Self { name, entry, call }
    }

    /// Returns the operation; [`Operation::OTHER`] if it is not known.
    pub(super) fn operation(&self) -> Operation {
        self.call.as_ref().map_or(Operation::OTHER, |call| call.operation)
    }

    /// Whether its answer was a stream.
    pub(super) fn is_streamed(&self, response: &RecordedResponse) -> bool {
        let asked = self.call.as_ref().is_some_and(|call| call.streamed);
        let bytes = response.payload.joined_bytes();
        asked || Framing::from_answer(self.operation(), response.media_type(), &bytes).is_some()
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
        match &self.entry.response {
            Some(response)
                if self.operation().makes_vectors() && self.entry.embeddings.is_empty() =>
            {
                let answer = |bytes: Vec<u8>| {
                    loomrec_provider::read_complete(self.operation(), response.media_type(), &bytes)
                };
                plain_body(response)
                    .and_then(answer)
                    .map_or_else(Vec::new, |Answer { embeddings, .. }| embeddings)
            }
            _ => self.entry.embeddings.clone(),
        }
    }
}

/// Returns the body's plain bytes; `None` if it does not decode.
pub(super) fn plain_body(response: &RecordedResponse) -> Option<Vec<u8>> {
    let bytes = response.payload.joined_bytes();
    match encoding::coding_in(&response.headers) {
        None => Some(bytes.to_vec()),
        Some(coding) => encoding::decode_body(&coding, &bytes, DECODED),
    }
}

/// Returns the first header with this name; `""` if there is none.
pub(super) fn first_header<'r>(response: &'r RecordedResponse, name: &str) -> &'r str {
    let found = response.headers.iter().find(|(known, _)| known == name);
    found.map_or("", |(_, value)| value.as_str())
}
