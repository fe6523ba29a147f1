//! The status of an answer over gRPC.

use percent_encoding::percent_decode_str;

use crate::answer_outcome::{AnswerOutcome, JudgedAnswer};

/// The status of an answer over gRPC.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GrpcStatus {
    /// The code; 0 is a success.
    code: u32,
    /// What the server says of it; empty if it says nothing.
    message: String,
}

/// The names of the codes, from 0.
const NAMES: [&str; 17] = [
    "OK",
    "CANCELLED",
    "UNKNOWN",
    "INVALID_ARGUMENT",
    "DEADLINE_EXCEEDED",
    "NOT_FOUND",
    "ALREADY_EXISTS",
    "PERMISSION_DENIED",
    "RESOURCE_EXHAUSTED",
    "FAILED_PRECONDITION",
    "ABORTED",
    "OUT_OF_RANGE",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
    "UNAUTHENTICATED",
];

impl GrpcStatus {
    /// Reads it from the trailers of an answer, else from its headers. `None` if neither has it.
    pub fn find(headers: &[(String, String)], trailers: &[(String, String)]) -> Option<Self> {
        let of = |fields: &[(String, String)]| {
            let field = |name: &str| {
                fields.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
            };
            let code = field("grpc-status")?.trim().parse().ok()?;
            let message = percent_decode_str(field("grpc-message").unwrap_or_default());
            Some(Self { code, message: message.decode_utf8_lossy().into_owned() })
        };
        of(trailers).or_else(|| of(headers))
    }

    /// Returns the outcome of an answer with this status.
    pub(crate) fn judge(status: Option<&Self>) -> JudgedAnswer {
        let Some(Self { code, message }) = status else {
            return AnswerOutcome::Unfinished.with_reason("its trailers have no grpc-status");
        };
        if *code == 0 {
            return JudgedAnswer::COMPLETE;
        }
        let name = usize::try_from(*code).ok().and_then(|code| NAMES.get(code));
        let name = name.map_or_else(String::new, |name| format!(" ({name})"));
        let failed = AnswerOutcome::FailedByProvider;
        failed.with_reason(format!("grpc-status {code}{name}")).with_quote(message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn status_is_that_of_the_trailers_before_that_of_the_head() {
        let head = fields(&[("grpc-status", "0")]);
        let trailers = fields(&[("grpc-status", "14"), ("grpc-message", "try%20later%21")]);
        let found = GrpcStatus::find(&head, &trailers);
        let judged = GrpcStatus::judge(found.as_ref());
        assert_eq!(judged.outcome, AnswerOutcome::FailedByProvider);
        assert_eq!(judged.description(), "grpc-status 14 (UNAVAILABLE): try later!");
        let found = GrpcStatus::find(&head, &[]);
        assert_eq!(GrpcStatus::judge(found.as_ref()), JudgedAnswer::COMPLETE);
    }

    #[test]
    fn answer_without_a_readable_status_is_unfinished() {
        for value in ["", "x", "-1", "99999999999"] {
            let found = GrpcStatus::find(&fields(&[("grpc-status", value)]), &[]);
            assert_eq!(GrpcStatus::judge(found.as_ref()).outcome, AnswerOutcome::Unfinished);
        }
        let unnamed = GrpcStatus::find(&fields(&[("grpc-status", "77")]), &[]);
        assert_eq!(GrpcStatus::judge(unnamed.as_ref()).description(), "grpc-status 77");
    }
}
