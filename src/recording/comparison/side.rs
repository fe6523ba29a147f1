//! One call of a comparison: an entry, what it is kept under, and what it asks for.

use crate::{Entry, EntryName, RecordedResponse, encoding};
use loomrec_provider::{Answer, Framing, Operation, RecognisedCall};

/// Plain bytes of a compressed body, at most.
const DECODED: usize = encoding::LARGEST;

/// One of the two calls that are compared.
#[derive(Debug)]
pub struct ComparedSide<'e> {
    /// What it is kept under.
    pub name: &'e EntryName,
    /// The entry.
    pub entry: &'e Entry,
    /// What its request asks for, where the request is recorded.
    pub call: Option<RecognisedCall>,
}

impl<'e> ComparedSide<'e> {
    /// The call that `entry` keeps under `name`.
    pub fn of(name: &'e EntryName, entry: &'e Entry) -> Self {
        let call = entry.request.as_ref().map(|request| request.recognise());
        Self { name, entry, call }
    }

    /// What it asks for; [`Operation::OTHER`] where that is not known.
    pub(super) fn operation(&self) -> Operation {
        self.call.as_ref().map_or(Operation::OTHER, |call| call.operation)
    }

    /// Whether its answer came as a stream.
    pub(super) fn streamed(&self, response: &RecordedResponse) -> bool {
        let asked = self.call.as_ref().is_some_and(|call| call.streamed);
        asked || Framing::of_media(media(response)).is_some()
    }

    /// Whether its entry tells what the answer says.
    pub(super) fn says(&self) -> bool {
        let entry = self.entry;
        entry.content.as_ref().is_some_and(|content| !content.is_empty())
            || !entry.tool_calls.is_empty()
            || !entry.embeddings.is_empty()
            || entry.finish_reason.is_some()
            || entry.usage.is_some()
    }

    /// The vectors of its answer: an entry that has its response keeps them there.
    pub(super) fn vectors(&self) -> Vec<Vec<f64>> {
        match &self.entry.response {
            Some(response)
                if self.operation().makes_vectors() && self.entry.embeddings.is_empty() =>
            {
                let answer = |bytes: Vec<u8>| {
                    loomrec_provider::read_complete(self.operation(), media(response), &bytes)
                };
                plain(response)
                    .and_then(answer)
                    .map_or_else(Vec::new, |Answer { embeddings, .. }| embeddings)
            }
            _ => self.entry.embeddings.clone(),
        }
    }
}

/// The body's plain bytes; `None` where it does not decode.
pub(super) fn plain(response: &RecordedResponse) -> Option<Vec<u8>> {
    let bytes = response.payload.bytes();
    match encoding::coding_in(&response.headers) {
        None => Some(bytes.to_vec()),
        Some(coding) => encoding::decode(&coding, &bytes, DECODED),
    }
}

/// The media type, without parameters; `""` where there is none.
pub(super) fn media(response: &RecordedResponse) -> &str {
    header(response, "content-type").split(';').next().unwrap_or_default().trim()
}

/// The first header of this name; `""` where there is none.
pub(super) fn header<'r>(response: &'r RecordedResponse, name: &str) -> &'r str {
    let found = response.headers.iter().find(|(known, _)| known == name);
    found.map_or("", |(_, value)| value.as_str())
}
