//! AWS Bedrock's runtime.

pub(super) mod converse;
pub(super) mod invoke;

use serde_json::{Value, json};

use super::error_request::ErrorRequest;
use super::request_head::{PathShape, RequestHead, decoded};
use super::{Operation, Provider};

/// Bedrock's runtime: `/model/ID/verb`, the id percent-encoded or not.
pub(super) fn recognise(seen: &RequestHead) -> Option<PathShape> {
    let post = seen.method == "POST";
    let (rest, verb) = seen.path.rsplit_once('/')?;
    let (_, id) = rest.split_once("/model/")?;
    let operation = match verb {
        "converse" | "converse-stream" if post => Operation::Converse,
        "invoke" | "invoke-with-response-stream" if post => Operation::Invoke,
        "count-tokens" | "invoke-with-bidirectional-stream" => Operation::Other,
        _ => return None,
    };
    let mut shape = PathShape::new(Provider::Bedrock, operation);
    shape.model = decoded(id);
    shape.streamed = Some(verb.ends_with("-stream"));
    Some(shape)
}

/// The body of an error. Its kind stands in a header, and boto3 shows both.
pub(super) fn error(message: &str) -> Value {
    json!({ "message": message })
}

/// The body of an error of Bedrock's own; its kind is [`exception`].
pub(super) fn natural(asked: &ErrorRequest<'_>) -> Value {
    let usual = match asked.kind.unwrap_or_else(|| exception(asked.status)) {
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
    error(asked.message.unwrap_or(usual))
}

/// The exception that Bedrock names, in a header, beside a status.
pub(super) fn exception(status: u16) -> &'static str {
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
