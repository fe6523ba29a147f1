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
