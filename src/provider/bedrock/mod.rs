//! AWS Bedrock's runtime.

pub(super) mod converse;
pub(super) mod invoke;

use serde_json::{Value, json};

use super::recognise::{Seen, Shape, decoded};
use super::{Operation, Provider};

/// Bedrock's runtime: `/model/ID/verb`, the id percent-encoded or not.
pub(super) fn recognise(seen: &Seen) -> Option<Shape> {
    let post = seen.method == "POST";
    let (rest, verb) = seen.path.rsplit_once('/')?;
    let (_, id) = rest.split_once("/model/")?;
    let operation = match verb {
        "converse" | "converse-stream" if post => Operation::Converse,
        "invoke" | "invoke-with-response-stream" if post => Operation::Invoke,
        "count-tokens" | "invoke-with-bidirectional-stream" => Operation::Other,
        _ => return None,
    };
    let mut shape = Shape::new(Provider::Bedrock, operation);
    shape.model = decoded(id);
    shape.streamed = Some(verb.ends_with("-stream"));
    Some(shape)
}

/// The body of an error. Its kind stands in a header, and boto3 shows both.
pub(super) fn error(message: &str) -> Value {
    json!({ "message": message })
}

/// The body of an error of Bedrock's own; its kind is [`exception`].
pub(super) fn natural(status: u16, message: Option<&str>) -> Value {
    let usual = match status {
        403 => "You don't have access to the model with the specified model ID.",
        404 => "Could not resolve the foundation model from the provided model identifier.",
        408 => "The model took too long to respond.",
        424 => "The model returned an error.",
        429 => "Too many requests, please wait before trying again.",
        503 => "Bedrock is unable to process your request.",
        500.. => {
            "The system encountered an unexpected error during processing. Try your request again."
        }
        _ => "The provided request is not valid",
    };
    error(message.unwrap_or(usual))
}

/// The exception that Bedrock names, in a header, beside a status.
pub(super) fn exception(status: u16) -> &'static str {
    match status {
        401 | 403 => "AccessDeniedException",
        404 => "ResourceNotFoundException",
        408 => "ModelTimeoutException",
        424 => "ModelErrorException",
        429 => "ThrottlingException",
        503 => "ServiceUnavailableException",
        500.. => "InternalServerException",
        _ => "ValidationException",
    }
}
