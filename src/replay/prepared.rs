//! One recorded take, made ready to be served.

use std::sync::Arc;

use super::delivery::Delivery;
use super::plain;
use crate::identity::RequestParts;
use crate::provider::{Call, Operation};
use crate::recording::entry::{Entry, RecordedRequest, RecordedResponse};
use crate::recording::observed::Observed;

/// A take of a recording: one entry under one name.
#[derive(Debug)]
pub struct Take {
    /// The entry's key in the file: a step id or a hash.
    pub name: String,
    /// Which take of that name, from 1.
    pub number: usize,
    /// Which recording it comes from, as an index of the matcher's sources.
    pub source: usize,
    /// The step id it stands under, if it does.
    pub step: Option<String>,
    /// What its request asked for, where the request is recorded.
    pub call: Option<Call>,
    /// The entry.
    pub entry: Arc<Entry>,
}

impl Take {
    /// The recorded request as its key is made of it.
    pub(super) fn recorded(&self) -> Option<RequestParts<'_>> {
        Some(self.entry.request.as_ref()?.parts(self.call.as_ref()?))
    }

    /// Whether the recorded answer was asked for as a stream.
    pub fn is_streamed(&self) -> bool {
        match (&self.call, &self.entry.response) {
            (Some(call), _) => call.streamed,
            (None, Some(response)) => media_type(response) == Some("text/event-stream"),
            (None, None) => false,
        }
    }

    /// The answer to `observed` in the mode and encoding it asks for.
    ///
    /// # Errors
    /// Why the recorded answer cannot be given in that form.
    pub fn deliver(
        &self,
        observed: &Observed,
        accept_encoding: Option<&str>,
    ) -> Result<Delivery, String> {
        let Some(response) = &self.entry.response else {
            return plain::deliver(
                &self.entry,
                observed,
                &format!("{}#{}", self.name, self.number),
            );
        };
        if self.is_framed_otherwise(observed) && is_success(response) {
            return Err("it was recorded as an array and is asked for as server-sent events \
                        (alt=sse), or the reverse; record this call in both forms"
                .to_owned());
        }
        let mut delivery = Delivery::of(response)?;
        if self.must_change_mode(response, observed) {
            delivery.decode_unless_accepted(None)?;
            delivery.change_mode(observed)?;
        } else {
            delivery.decode_unless_accepted(accept_encoding)?;
        }
        delivery.frame();
        Ok(delivery)
    }

    /// Whether the recorded answer has the mode and the framing that is asked for.
    pub(super) fn is_in_form_of(&self, observed: &Observed) -> bool {
        self.is_streamed() == observed.call.streamed && !self.is_framed_otherwise(observed)
    }

    /// Gemini streams an array of answers, or events under `alt=sse`: one hash, and
    /// each of no use to a caller of the other.
    fn is_framed_otherwise(&self, observed: &Observed) -> bool {
        let (Some(call), Some(request)) = (&self.call, &self.entry.request) else { return false };
        call.operation == Operation::GenerateContent
            && call.streamed
            && observed.call.streamed
            && asks_for_events(request) != asks_for_events(&observed.request)
    }

    /// Whether the caller wants the other mode of delivery. An error is the same
    /// in both, and so is an answer that is not what its request asked for.
    fn must_change_mode(&self, response: &RecordedResponse, observed: &Observed) -> bool {
        is_success(response)
            && self.is_streamed() != observed.call.streamed
            && self.is_stream(response) != observed.call.streamed
    }

    /// Whether the recorded answer really is a stream. Only JSON and server-sent
    /// events tell that by themselves; any other is taken for what its request
    /// asked for (Ollama's lines of JSON, Bedrock's event stream).
    fn is_stream(&self, response: &RecordedResponse) -> bool {
        match media_type(response) {
            Some("text/event-stream") => true,
            Some("application/json") => self.is_streamed() && is_array(response),
            _ => self.is_streamed(),
        }
    }
}

fn is_success(response: &RecordedResponse) -> bool {
    (200..300).contains(&response.status)
}

/// Whether a body is a JSON array, as Gemini's streams are; no complete answer is.
fn is_array(response: &RecordedResponse) -> bool {
    let mut bytes = response.payload.chunks.iter().flat_map(|chunk| chunk.data.iter());
    bytes.find(|byte| !byte.is_ascii_whitespace()) == Some(&b'[')
}

fn asks_for_events(request: &RecordedRequest) -> bool {
    request.query.split('&').any(|parameter| parameter == "alt=sse")
}

/// The media type of a response, without parameters.
fn media_type(response: &RecordedResponse) -> Option<&str> {
    let value = response.headers.iter().find(|(name, _)| name == "content-type")?;
    Some(value.1.split(';').next().unwrap_or_default().trim())
}
