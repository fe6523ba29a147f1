//! Answers that do not parse.

use bytes::Bytes;

use loomrec_fault::{AnswerSubstitute, Fault};
use loomrec_provider::{Provider, ResponseFormat};

/// Returns a body, or an event of a stream, that does not parse.
pub(super) fn unparsable_bytes(format: &ResponseFormat<'_>, streamed: bool) -> Bytes {
    let fault = Fault::MalformedResponse { raw: None };
    match loomrec_fault::substitute_for(&fault, Provider::UNKNOWN, format, streamed) {
        Some(AnswerSubstitute::Answer(answer)) => answer.body.into(),
        _ => Bytes::from_static(b"{"),
    }
}
