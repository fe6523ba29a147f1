//! Fuzz target for the differences of two bodies. The input is both, with a zero byte between them.

#![no_main]

use libfuzzer_sys::{Corpus, fuzz_target};
use loomrec_identity::{IdentityRules, body_deltas, body_distance, canonical, parse};

/// More differences than an input has values.
const MOST: usize = 100_000;

fuzz_target!(|data: &[u8]| -> Corpus {
    let Some(middle) = data.iter().position(|byte| *byte == 0) else { return Corpus::Reject };
    let (Ok(one), Ok(other)) = (parse(&data[..middle]), parse(&data[middle + 1..])) else {
        return Corpus::Reject;
    };
    let rules = IdentityRules::default();
    let same = canonical::value_text(&one) == canonical::value_text(&other);
    let found = body_deltas(&one, &other, &rules, MOST);
    assert_eq!(found.is_empty(), same, "bodies of one text, and no others, do not differ");
    assert_eq!(body_distance(&one, &other, &rules) == 0, same);
    for delta in &found {
        assert_ne!(delta.recorded, delta.now, "a difference is one");
    }
    Corpus::Keep
});
