//! Bedrock's errors.

use serde_json::{Value, json};

use crate::framing::EventFrame;
use crate::operation::StreamError;
use crate::provider_row::ErrorRequest;

/// The body of one of loomrec's errors. Its kind is in a header, and boto3 shows both.
pub(super) fn own_body(message: &str) -> Value {
    json!({ "message": message })
}

/// The body of an error as Bedrock sends it; its kind is [`exception_name`].
pub(super) fn natural_body(error_request: &ErrorRequest<'_>) -> Value {
    let usual = match error_request.kind.unwrap_or_else(|| exception_name(error_request.status)) {
        "AccessDeniedException" => {
            "You don't have access to the model with the specified model ID."
        }
        "ResourceNotFoundException" => {
            "Could not resolve the foundation model from the provided model identifier."
        }
        "ModelTimeoutException" => "The model took too long to respond.",
        "ModelErrorException" => "The model returned an error.",
        "ModelNotReadyException" => "The model is not ready for inference. Wait and try again.",
        "ConflictException" => "The request conflicts with the current state of the resource.",
        "ServiceQuotaExceededException" => "Your request exceeds a service quota.",
        "ThrottlingException" => "Too many requests, please wait before trying again.",
        "ServiceUnavailableException" => "Bedrock is unable to process your request.",
        "InternalServerException" => {
            "The system encountered an unexpected error during processing. Try your request again."
        }
        _ => "The provided request is not valid",
    };
    own_body(error_request.message.unwrap_or(usual))
}

/// The exception that Bedrock names in a header with this status.
pub(super) fn exception_name(status: u16) -> &'static str {
    match status {
        401 | 403 => "AccessDeniedException",
        404 => "ResourceNotFoundException",
        408 => "ModelTimeoutException",
        409 => "ConflictException",
        424 => "ModelErrorException",
        429 => "ThrottlingException",
        503 | 529 => "ServiceUnavailableException",
        500.. => "InternalServerException",
        _ => "ValidationException",
    }
}

/// The event for an error in a stream.
pub(super) fn stream_error(error: &StreamError<'_>) -> EventFrame {
    let kind = stream_exception(error.status, error.kind);
    EventFrame::exception(kind, json!({ "message": error.message }))
}

/// Bedrock's exceptions in a stream.
const EXCEPTIONS: [&str; 6] = [
    "throttlingException",
    "modelStreamErrorException",
    "internalServerException",
    "serviceUnavailableException",
    "validationException",
    "modelTimeoutException",
];

/// Bedrock's exception for an error: the given kind if it is one of them, in any case.
fn stream_exception(status: u16, kind: Option<&str>) -> &'static str {
    let given = kind
        .and_then(|kind| EXCEPTIONS.iter().find(|known| known.eq_ignore_ascii_case(kind)).copied());
    given.unwrap_or(match status {
        429 => "throttlingException",
        424 => "modelStreamErrorException",
        408 | 504 => "modelTimeoutException",
        503 | 529 => "serviceUnavailableException",
        400..=499 => "validationException",
        _ => "internalServerException",
    })
}
