//! Responses that a fault sends in place of the true answer, or silence and a cut.

mod error;
mod malformed;
mod response;
mod uniform_error;

pub use response::SyntheticResponse;

use super::body_transform::MALFORMED;
use super::{ConnectionCut, Fault, HttpError, ToolResultMode, TruncationEnd};
use loomrec_provider::{Provider, ResponseFormat};

/// What is sent in place of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AnswerSubstitute {
    /// No byte, then the end of the connection.
    Silence {
        /// For how many milliseconds.
        for_ms: u64,
        /// How the connection ends, unless the client leaves first.
        then: ConnectionCut,
    },
    /// An answer.
    Answer(SyntheticResponse),
}

/// Returns what is sent in place of the answer to this call, in the format of the provider `shape`.
/// Returns `None` for a fault that needs the true answer.
///
/// `streamed` says whether the call requests a stream. A complete answer has no place for an error
/// within a stream ([`TruncationEnd::ErrorEvent`]), so the error becomes the answer.
pub fn substitute_for(
    fault: &Fault,
    shape: Provider,
    format: &ResponseFormat<'_>,
    streamed: bool,
) -> Option<AnswerSubstitute> {
    let silence = |for_ms, then| AnswerSubstitute::Silence { for_ms, then };
    let answer = |made| Some(AnswerSubstitute::Answer(made));
    match fault {
        Fault::Timeout { after_ms } => Some(silence(*after_ms, ConnectionCut::Close)),
        Fault::Hang { max_ms } | Fault::Wedged { max_ms } => {
            Some(silence(*max_ms, ConnectionCut::Close))
        }
        Fault::ConnectionDrop => Some(silence(0, ConnectionCut::Close)),
        // A destroyed connection, which the client sees as a reset.
        Fault::ConnectionReset | Fault::Disconnect => Some(silence(0, ConnectionCut::Reset)),
        Fault::ToolResultFault { mode: ToolResultMode::ServerDies, .. }
            if format.operation.has_tool_results() =>
        {
            Some(silence(0, ConnectionCut::Reset))
        }
        Fault::HttpError(told) => answer(error::error_response(told, shape, format, streamed)),
        Fault::StreamTruncate(truncate)
            if truncate.raise == TruncationEnd::ErrorEvent && !streamed =>
        {
            let told = HttpError {
                status_code: truncate.status_code.unwrap_or(500),
                message: truncate.message.clone(),
                ..HttpError::default()
            };
            answer(error::error_response(&told, shape, format, streamed))
        }
        Fault::MalformedResponse { raw } => {
            answer(malformed::malformed_response(raw.as_deref(), format, streamed))
        }
        Fault::Drop => {
            answer(SyntheticResponse::with_body(500, "application/json", uniform_error::DROPPED))
        }
        Fault::RateLimit => answer(uniform_error::rate_limit()),
        Fault::Malformed { whole: true } => {
            answer(SyntheticResponse::with_body(200, "application/json", MALFORMED))
        }
        Fault::Slow { .. }
        | Fault::RecoverAfter { .. }
        | Fault::StreamTruncate(_)
        | Fault::PartialResponse { .. }
        | Fault::ToolCallFault { .. }
        | Fault::ToolResultFault { .. }
        | Fault::StreamStall { .. }
        | Fault::Throttle { .. }
        | Fault::Slice { .. }
        | Fault::StreamGarble { .. }
        | Fault::WrongLength { .. }
        | Fault::BadEncoding
        | Fault::Malformed { whole: false } => None,
    }
}

#[cfg(test)]
mod tests;
