//! Named differences between two JSON values.

use serde_json::Value;

use super::{CallDifference, CallHalf, MOST};
use loomrec_identity::{IdentityRules, RequestDelta};

/// Adds the differences between `old` and `new`. `place` is the prefix of their places.
pub(super) fn add_differences(
    part: CallHalf,
    place: &str,
    old: Option<&Value>,
    new: Option<&Value>,
    found: &mut Vec<CallDifference>,
) {
    if old == new {
        return;
    }
    if let (Some(old), Some(new)) = (old, new) {
        let (one, other) = (old.to_string(), new.to_string());
        if let (Ok(one), Ok(other)) =
            (loomrec_identity::parse(one.as_bytes()), loomrec_identity::parse(other.as_bytes()))
        {
            let deltas =
                loomrec_identity::body_deltas(&one, &other, &IdentityRules::default(), MOST);
            found.extend(deltas.into_iter().map(|delta| difference_from_delta(part, place, delta)));
            return;
        }
    }
    found.push(whole_difference(part, place, old.cloned(), new.cloned()));
}

/// Returns a difference at one place.
pub(super) fn whole_difference(
    part: CallHalf,
    place: &str,
    old: Option<Value>,
    new: Option<Value>,
) -> CallDifference {
    CallDifference { part, place: place.to_owned(), old, new, counts: true }
}

/// Converts a delta to a difference below `place`.
pub(super) fn difference_from_delta(
    part: CallHalf,
    place: &str,
    delta: RequestDelta,
) -> CallDifference {
    let RequestDelta { pointer, recorded, now } = delta;
    whole_difference(
        part,
        &format!("{place}{pointer}"),
        recorded.map(parse_canonical),
        now.map(parse_canonical),
    )
}

/// Parses a canonical text. A text that nests too deeply stays a text.
fn parse_canonical(canonical: String) -> Value {
    serde_json::from_str(&canonical).unwrap_or(Value::String(canonical))
}
