//! Requests without the results of tools, for the explanation of a miss: what is not compared must
//! not be shown as a difference.

use serde_json::Value;

use loomrec_identity::IdentityRules;
use loomrec_recording::RecordedRequest;

/// Stands in the place of a result.
const NOT_COMPARED: &str = "(not compared)";

/// Returns a request with a mark in the place of each result that these rules do not compare.
pub(super) fn without_results(
    mut request: RecordedRequest,
    rules: &IdentityRules,
) -> RecordedRequest {
    if rules.compares_tool_calls()
        && let Some(body) = marked(&request)
    {
        request.body = body.into();
    }
    request
}

fn marked(request: &RecordedRequest) -> Option<Vec<u8>> {
    let call = request.recognise();
    let places = call.operation.tool_results(&request.parts(&call).json()?);
    let mut body: Value = serde_json::from_slice(&request.body).ok()?;
    for place in &places {
        *body.pointer_mut(&place.to_string())? = Value::from(NOT_COMPARED);
    }
    serde_json::to_vec(&body).ok()
}
