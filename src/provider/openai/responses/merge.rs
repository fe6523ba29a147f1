//! The merging of a Responses stream into the response.

use std::collections::BTreeMap;

use serde_json::Value;

use super::is_terminal;
use crate::framing::{Framing, events};
use crate::json_view::{text_or_empty, token_count};
use crate::operation::{MergedStream, ObjectView};

/// Returns the response that a stream ends with; `None` if it has no Responses event. A response
/// that failed and a stream that holds an error did not end well.
pub(super) fn merge_events(bytes: &[u8]) -> Option<MergedStream> {
    let mut merged = MergedStream { body: ObjectView::new(), ended: false, failed: false };
    let mut items = BTreeMap::new();
    let mut seen = false;
    for event in events(Framing::Sse, bytes) {
        if event.data.is_none() || event.is_done() {
            continue;
        }
        let Some(mut data @ Value::Object(_)) = event.json_data() else {
            merged.failed = true;
            continue;
        };
        let kind = text_or_empty(&data, "type").into_owned();
        seen |= kind.starts_with("response.");
        merged.failed |= matches!(kind.as_str(), "error" | "response.failed");
        merged.failed |= data.get("error").is_some_and(|error| !error.is_null());
        if kind == "response.output_item.done" {
            let item = data.get_mut("item").map(Value::take).unwrap_or_default();
            items.insert(token_count(&data, "output_index").unwrap_or(0), item);
        } else if let Some(Value::Object(response)) = data.get_mut("response")
            && !merged.ended
        {
            merged.body = std::mem::take(response);
            merged.ended =
                is_terminal(&kind) && merged.body.get("output").is_some_and(Value::is_array);
        }
    }
    // Some servers end with a response that does not repeat its output.
    if let Some(Value::Array(output)) = merged.body.get_mut("output")
        && output.is_empty()
    {
        output.extend(items.into_values());
    }
    seen.then_some(merged)
}
