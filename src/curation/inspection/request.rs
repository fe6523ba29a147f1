//! A recorded request for display.

use serde_json::{Value, json};

use super::text::BodyText;
use super::{setting, talk};
use crate::history::CarriedParts;
use loomrec_recording::RecordedRequest;

/// Larger bodies are not parsed for messages.
pub(super) const READ: usize = 16 << 20;

/// Returns a request as JSON. `carried` says what an earlier request had already.
pub(super) fn to_json(request: &RecordedRequest, carried: Option<&CarriedParts>) -> Value {
    let body: Option<Value> = match request.body.len() {
        0 => None,
        length if length > READ => None,
        _ => serde_json::from_slice(&request.body).ok(),
    };
    let BodyText { text, cut } = BodyText::from_bytes(&request.body);
    let messages = body.as_ref().map(talk::asked_in_places);
    let messages = messages.and_then(|asked| talk::asked_to_json(&asked, carried));
    let query = if request.query.is_empty() { "" } else { "?" };
    json!({
        "method": request.method,
        "path": format!("{}{query}{}", request.path, request.query),
        "headers": request.headers,
        "text": text,
        "cut": cut,
        "bytes": request.body.len(),
        "messages": messages,
        "settings": body.as_ref().and_then(Value::as_object).map_or_else(|| json!([]), setting::from_body),
    })
}
