//! Requests without what is not compared of the results of tools, for the explanation of a miss: it
//! must not be shown as a difference.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use loomrec_identity::{IdentityRules, JsonPointer, NormalizeRule, ToolResultPlace};
use loomrec_recording::Entry;

/// Stands in the place of a result.
const NOT_COMPARED: &str = "(not compared)";

/// The member of a result that belongs to its position.
const OF_POSITION: &str = "cache_control";

/// Returns an entry with a mark in the place of each result in its request that these rules do not
/// compare.
pub(super) fn without_results(mut entry: Entry, rules: &IdentityRules) -> Entry {
    if rules.compares_tool_calls()
        && let Some(body) = marked_body(&entry)
    {
        entry.change_request_body(|_| Some(body.into()));
    }
    entry
}

fn marked_body(entry: &Entry) -> Option<Vec<u8>> {
    let mut body: Value = serde_json::from_slice(entry.request_body()?).ok()?;
    for place in result_places(entry)? {
        *body.pointer_mut(&place.content.to_string())? = Value::from(NOT_COMPARED);
    }
    serde_json::to_vec(&body).ok()
}

fn result_places(entry: &Entry) -> Option<Vec<ToolResultPlace>> {
    let call = entry.recognise_call()?;
    let parts = entry.key_parts(&call)?;
    Some(call.operation.tool_results(&parts.json_body()?))
}

/// Returns an entry with the results of tools in its request in the order of those in another
/// request, if these rules do not compare the order.
pub(super) fn in_order_of(mut recorded: Entry, now: &Entry, rules: &[NormalizeRule]) -> Entry {
    if rules.iter().any(NormalizeRule::is_of_result_order)
        && let Some(body) = reordered_body(&recorded, now)
    {
        recorded.change_request_body(|_| Some(body.into()));
    }
    recorded
}

fn reordered_body(recorded: &Entry, now: &Entry) -> Option<Vec<u8>> {
    let mut body: Value = serde_json::from_slice(recorded.request_body()?).ok()?;
    let (recorded, now) = (result_places(recorded)?, result_places(now)?);
    let places: HashSet<&JsonPointer> = recorded.iter().map(|result| &result.element).collect();
    let by_call: HashMap<usize, &JsonPointer> =
        now.iter().map(|result| (result.call, &result.element)).collect();
    let mut moved: HashMap<&JsonPointer, Value> = HashMap::new();
    for ToolResultPlace { element, call, .. } in &recorded {
        let is_one =
            |place: &&JsonPointer| places.contains(place) && list_of(place) == list_of(element);
        // A result that the other request has elsewhere stays where it is.
        let place = by_call.get(call).copied().filter(is_one).unwrap_or(element);
        let result = body.pointer(&element.to_string())?.clone();
        if moved.insert(place, result).is_some() {
            return None;
        }
    }
    for (place, mut result) in moved {
        let there = body.pointer_mut(&place.to_string())?;
        let members = result.as_object_mut()?;
        members.remove(OF_POSITION);
        let of_position = there.get(OF_POSITION).cloned();
        members.extend(of_position.map(|value| (OF_POSITION.to_owned(), value)));
        *there = result;
    }
    serde_json::to_vec(&body).ok()
}

/// Returns the place of the list that an element is in.
fn list_of(element: &JsonPointer) -> &[String] {
    element.tokens().split_last().map_or(&[], |(_, list)| list)
}
