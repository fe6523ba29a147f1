//! The values of this run that take the place of recorded ones.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::listing::remainder_text;
use loomrec_identity::BoundPair;

/// How many values are shown to people, and how much of each.
const NAMED: usize = 20;
const SHOWN: usize = 80;

/// Returns the part of the line for people; `None` if every value is the recorded one.
pub(super) fn summary_part(pairs: &BTreeSet<BoundPair>) -> Option<String> {
    let named = pairs.iter().take(NAMED).map(|pair| {
        let BoundPair { name, recorded, here } = pair;
        format!("{name} {} for {}", shorten_line(here), shorten_line(recorded))
    });
    let named: Vec<String> = named.collect();
    let more = remainder_text(pairs.len(), NAMED);
    (!named.is_empty()).then(|| format!("this run's values: {}{more}", named.join(", ")))
}

/// Returns the values for programs.
pub(super) fn to_json(pairs: &BTreeSet<BoundPair>) -> Value {
    let value = |pair: &BoundPair| json!({ "name": pair.name, "recorded": pair.recorded, "now": pair.here });
    pairs.iter().map(value).collect()
}

/// Returns the first line of a text, or its beginning.
fn shorten_line(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    let shown: String = line.chars().take(SHOWN).collect();
    if shown.len() < text.len() { format!("{shown}…") } else { shown }
}
