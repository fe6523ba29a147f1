//! The outcome of a recorded answer. [`judge_answer`] defines it; it is computed from what is
//! stored and never stored itself, so recordings of any age are judged alike.

use bytes::Bytes;

use super::encoding::{self, DecodableBody, DecodeError, LARGEST};
use super::entry::{Entry, RecordedCut, RecordedResponse, ResponseEnd};
use super::message::{CUT_CLOSE_CODE, MessagePayload, MessageSender, NO_CLOSE_CODE};
use super::redact::stated_media;
use loomrec_provider::{
    AnswerOutcome, GrpcStatus, JudgedAnswer, Operation, ReceivedAnswer, ReceivedBody, TransportEnd,
    judge_answer,
};

/// The close code of a conversation that is over (RFC 6455, section 7.4.1).
const NORMAL_CLOSE: u16 = 1000;
/// The close code of a server that stops, or a client that leaves the page.
const GOING_AWAY: u16 = 1001;

/// The body of a response without its content coding, as far as it can be decoded.
#[derive(Clone, Debug)]
pub struct PlainBody {
    /// The bytes.
    pub bytes: Bytes,
    /// Whether they differ from the recorded ones.
    pub is_decoded: bool,
    /// Why not all of the recorded bytes were decoded.
    pub problem: Option<DecodeError>,
}

impl PlainBody {
    /// Decodes the body of a response. A text that was sent with the header of a coding by mistake
    /// is its own plain body.
    pub fn from_response(response: &RecordedResponse) -> Self {
        let recorded = response.payload.joined_bytes();
        let decodable = encoding::coding_in(&response.headers)
            .map(|coding| encoding::decode_available(&coding, &recorded, LARGEST));
        let (bytes, is_decoded, problem) = match decodable {
            None => (recorded, false, None),
            Some(DecodableBody { problem: Some(problem), .. })
                if is_undecodable(problem) && std::str::from_utf8(&recorded).is_ok() =>
            {
                (recorded, false, Some(problem))
            }
            Some(DecodableBody { plain, problem }) => (plain.into(), true, problem),
        };
        Self { bytes, is_decoded, problem }
    }

    /// The body as it is judged.
    pub fn received_body(&self) -> ReceivedBody<'_> {
        match self.problem {
            Some(DecodeError::Damaged) if self.is_decoded => ReceivedBody::DamagedCoding,
            Some(DecodeError::Cut) => ReceivedBody::CutCoding,
            Some(DecodeError::Unknown) if self.is_decoded => ReceivedBody::Unread,
            Some(DecodeError::TooLarge) => ReceivedBody::Unread,
            _ => ReceivedBody::Plain(&self.bytes),
        }
    }
}

fn is_undecodable(problem: DecodeError) -> bool {
    matches!(problem, DecodeError::Damaged | DecodeError::Unknown)
}

impl RecordedResponse {
    /// Returns the outcome of this answer to a request for `operation` with this method.
    pub fn judge_answer(&self, operation: Operation, method: &str) -> JudgedAnswer {
        self.judge_body(operation, method, PlainBody::from_response(self).received_body())
    }

    /// As [`Self::judge_answer`], with a body that was decoded already.
    pub fn judge_body(
        &self,
        operation: Operation,
        method: &str,
        body: ReceivedBody<'_>,
    ) -> JudgedAnswer {
        judge_answer(&ReceivedAnswer {
            operation,
            method,
            status: self.status,
            media: self.media_type(),
            body,
            is_read: false,
            end: self.end.into(),
            grpc_status: GrpcStatus::find(&self.headers, &self.trailers).as_ref(),
        })
    }

    /// The media type, without parameters; empty if there is none.
    pub fn media_type(&self) -> &str {
        stated_media(&self.headers)
    }
}

impl Entry {
    /// Decodes the body of its response, as [`PlainBody::from_response`] does.
    pub fn plain_body(&self) -> Option<PlainBody> {
        self.response.as_ref().map(PlainBody::from_response)
    }

    /// Returns the outcome of its response to a call of `operation`, whatever its fault and its
    /// messages say. `body` is the body of the response, decoded.
    pub fn judge_response(
        &self,
        operation: Operation,
        body: ReceivedBody<'_>,
    ) -> Option<JudgedAnswer> {
        let method = self.request_method().unwrap_or_default();
        Some(self.response.as_ref()?.judge_body(operation, method, body))
    }

    /// Returns the outcome of its answer. An entry without a response, and one with a fault in the
    /// place of its answer, counts as complete.
    pub fn judge_answer(&self) -> JudgedAnswer {
        let Some(response) = self.response.as_ref().filter(|_| self.fault.is_none()) else {
            return JudgedAnswer::COMPLETE;
        };
        if let Some(judged) = self.judge_messages() {
            return judged;
        }
        match &self.request {
            // The body of a request only tells apart operations that are judged alike.
            Some(request) => {
                response.judge_answer(request.recognise_parsed(None).operation, &request.method)
            }
            None => response.judge_answer(Operation::OTHER, ""),
        }
    }

    /// Returns the outcome of a conversation that its server did not end well: APIs without error
    /// events report errors by close codes. `None` otherwise.
    pub fn judge_messages(&self) -> Option<JudgedAnswer> {
        let end = self.messages.last().filter(|last| last.sender == MessageSender::Server)?;
        let MessagePayload::Close { code, reason } = &end.payload else { return None };
        let (outcome, why) = match *code {
            NORMAL_CLOSE | GOING_AWAY | NO_CLOSE_CODE => return None,
            CUT_CLOSE_CODE => {
                (AnswerOutcome::Unfinished, "the server ended its connection without a close")
            }
            _ => (AnswerOutcome::FailedByProvider, "the server closed with an error"),
        };
        let quote = (!reason.is_empty()).then(|| format!("{code} {reason}"));
        Some(JudgedAnswer { outcome, reason: why.into(), quote })
    }

    /// Returns the outcome of its answer, as [`Self::judge_answer`] does.
    pub fn answer_outcome(&self) -> AnswerOutcome {
        self.judge_answer().outcome
    }

    /// Whether the call failed: its answer is an error, is unfinished, or is none.
    pub fn is_failure(&self) -> bool {
        self.answer_outcome().is_failure()
    }
}

impl From<ResponseEnd> for TransportEnd {
    fn from(end: ResponseEnd) -> Self {
        match end {
            ResponseEnd::Complete => Self::Complete,
            ResponseEnd::UpstreamAbort(RecordedCut::Close) => Self::Closed,
            ResponseEnd::UpstreamAbort(RecordedCut::Reset) => Self::Reset,
            ResponseEnd::ClientAbort => Self::ClientLeft,
            ResponseEnd::Truncated => Self::TooLarge,
        }
    }
}
