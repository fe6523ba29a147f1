//! The table rows of Bedrock and its operations, and how its requests are recognised.

use super::error::{exception_name, natural_body, own_body};
use super::{converse, count_tokens, invoke};
use crate::error_reason::{ErrorReason, ReasonedError};
use crate::operation::Operation;
use crate::provider_row::{ErrorRow, PathShape, Provider, ProviderRow};
use crate::request_head::{RequestHead, decode_segment, with_verb};

impl Provider {
    /// AWS Bedrock runtime.
    pub const BEDROCK: Self = Self::new(&PROVIDER);
}

impl Operation {
    /// `/model/{id}/converse` and `/converse-stream` of Bedrock
    pub const CONVERSE: Self = Self::new(&converse::ROW);
    /// `/model/{id}/invoke` and `/invoke-with-response-stream` of Bedrock
    pub const INVOKE: Self = Self::new(&invoke::ROW);
    /// `/model/{id}/count-tokens` of Bedrock
    pub const BEDROCK_COUNT_TOKENS: Self = Self::new(&count_tokens::ROW);
}

static PROVIDER: ProviderRow = ProviderRow {
    name: "bedrock",
    semantic: Some("aws.bedrock"),
    operations: &[Operation::CONVERSE, Operation::INVOKE, Operation::BEDROCK_COUNT_TOKENS],
    recognise,
    target: |seen, operation| Some(target(seen.path, operation)),
    errors: ErrorRow {
        own: |told| own_body(told.message),
        natural: natural_body,
        kind_header: Some("x-amzn-errortype"),
        identify: |error_request, headers| {
            let kind = error_request.kind.unwrap_or_else(|| exception_name(error_request.status));
            headers.push(("x-amzn-errortype", kind.to_owned()));
            headers.push(("x-amzn-requestid", error_request.uuid()));
        },
        reason: |reason, usual| match reason {
            ErrorReason::AuthenticationFailed => ReasonedError { status: 403, ..usual },
            ErrorReason::TimedOut => ReasonedError { status: 408, ..usual },
            ErrorReason::ContextLengthExceeded => {
                let message = Some("Input is too long for requested model.");
                ReasonedError { message, ..usual }
            }
            _ => usual,
        },
        sends_retry_after: |_| false,
        ..ErrorRow::PLAIN
    },
    ..ProviderRow::UNNAMED
};

/// The target in a request's key: the path of the complete answer. A colon in the model's id is
/// percent-encoded: boto3 sends it so, and other clients do not.
fn target(path: &str, operation: Operation) -> String {
    let path = &path.replace(':', "%3A");
    if operation == Operation::CONVERSE {
        with_verb(path, "/converse-stream", "/converse")
    } else if operation == Operation::INVOKE {
        with_verb(path, "/invoke-with-response-stream", "/invoke")
    } else {
        path.to_owned()
    }
}

/// Recognises Bedrock's runtime: `/model/ID/verb`, the id percent-encoded or not.
fn recognise(seen: &RequestHead) -> Option<PathShape> {
    let post = seen.method == "POST";
    let (rest, verb) = seen.path.rsplit_once('/')?;
    let (_, id) = rest.split_once("/model/")?;
    let operation = match verb {
        "converse" | "converse-stream" if post => Operation::CONVERSE,
        "invoke" | "invoke-with-response-stream" if post => Operation::INVOKE,
        "count-tokens" if post => Operation::BEDROCK_COUNT_TOKENS,
        "count-tokens" | "invoke-with-bidirectional-stream" => Operation::OTHER,
        _ => return None,
    };
    let mut shape = PathShape::new(Provider::BEDROCK, operation);
    shape.model = decode_segment(id);
    shape.streamed = Some(verb.ends_with("-stream"));
    Some(shape)
}
