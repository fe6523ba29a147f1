//! The presentation of a difference: amounts with their units, all others as they are.

use serde_json::Value;

use loomrec_cli::amount::{format_dollars, format_milliseconds};
use loomrec_curation::comparison::CallDifference;
pub(super) use loomrec_curation::comparison::ValueChange;
use loomrec_curation::comparison::value_change::inline_value;

/// Decides how a difference is shown.
pub(super) fn value_change(difference: &CallDifference) -> ValueChange {
    let (old, new) = (difference.old.as_ref(), difference.new.as_ref());
    amount_change(&difference.place, old, new)
        .unwrap_or_else(|| ValueChange::from_difference(difference))
}

/// Formats the differences that do not count in one line. Returns `None` if there are none.
pub(super) fn uncounted_line<'d>(all: impl Iterator<Item = &'d CallDifference>) -> Option<String> {
    let values = all.filter(|difference| !difference.counts).map(|difference| {
        let (old, new) = match value_change(difference) {
            ValueChange::Short(old, new) => (old, new),
            ValueChange::Lines(_) => {
                (inline_value(difference.old.as_ref()), inline_value(difference.new.as_ref()))
            }
        };
        format!("{} {old} → {new}", shown_place(difference))
    });
    let values: Vec<String> = values.collect();
    (!values.is_empty()).then(|| values.join(", "))
}

/// Returns the place as it is shown below its heading.
pub(super) fn shown_place(difference: &CallDifference) -> &str {
    difference.place.strip_prefix("answer/").unwrap_or(&difference.place)
}

/// Formats amounts, with their units.
fn amount_change(place: &str, old: Option<&Value>, new: Option<&Value>) -> Option<ValueChange> {
    let number = |value: Option<&Value>| value.and_then(Value::as_f64);
    let (old, new) = (number(old), number(new));
    if old.is_none() && new.is_none() {
        return None;
    }
    let written = |amount: fn(f64) -> String| {
        let amount_or_nothing =
            |value: Option<f64>| value.map_or_else(|| "nothing".to_owned(), amount);
        ValueChange::Short(amount_or_nothing(old), amount_or_nothing(new))
    };
    match place {
        "answer/cost_usd" => Some(written(format_dollars)),
        "answer/latency_ms" | "response/first_chunk_ms" => Some(written(format_milliseconds)),
        _ => None,
    }
}
