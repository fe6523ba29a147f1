//! A recorded request for display.

use serde_json::{Value, json};

use super::text::BodyText;
use super::{setting, talk};
use crate::history::CarriedParts;
use loomrec_recording::Entry;

/// Larger bodies are not parsed for messages.
pub(super) const READ: usize = 16 << 20;

/// Returns the request of an entry as JSON; `None` if it has none. `carried` says what an earlier
/// request had already.
pub(super) fn to_json(entry: &Entry, carried: Option<&CarriedParts>) -> Option<Value> {
    let bytes = entry.request_body()?;
    let body: Option<Value> = match bytes.len() {
        0 => None,
        length if length > READ => None,
        _ => serde_json::from_slice(bytes).ok(),
    };
    let BodyText { text, cut } = BodyText::from_bytes(bytes);
    let messages = body.as_ref().map(talk::asked_in_places);
    let messages = messages.and_then(|asked| talk::asked_to_json(&asked, carried));
    Some(json!({
        "method": entry.request_method(),
        "path": entry.request_target(),
        "headers": entry.request_headers(),
        "text": text,
        "cut": cut,
        "bytes": bytes.len(),
        "messages": messages,
        "settings": body.as_ref().and_then(Value::as_object).map_or_else(|| json!([]), setting::from_body),
    }))
}
