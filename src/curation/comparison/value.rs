//! Named differences between two JSON values.

use serde_json::Value;

use super::{CallDifference, CallHalf, MOST};
use loomrec_identity::{IdentityRules, RequestDelta};

/// Adds the differences between `old` and `new`. `place` is the prefix of their places.
pub(super) fn compare(
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
            let deltas = loomrec_identity::deltas(&one, &other, &IdentityRules::default(), MOST);
            found.extend(deltas.into_iter().map(|delta| named(part, place, delta)));
            return;
        }
    }
    found.push(whole(part, place, old.cloned(), new.cloned()));
}

/// Returns a difference at one place.
pub(super) fn whole(
    part: CallHalf,
    place: &str,
    old: Option<Value>,
    new: Option<Value>,
) -> CallDifference {
    CallDifference { part, place: place.to_owned(), old, new, counts: true }
}

/// Converts a delta to a difference below `place`.
pub(super) fn named(part: CallHalf, place: &str, delta: RequestDelta) -> CallDifference {
    let RequestDelta { pointer, recorded, now } = delta;
    whole(part, &format!("{place}{pointer}"), recorded.map(read), now.map(read))
}

/// Parses a canonical text. A text that nests too deeply stays a text.
fn read(canonical: String) -> Value {
    serde_json::from_str(&canonical).unwrap_or(Value::String(canonical))
}
