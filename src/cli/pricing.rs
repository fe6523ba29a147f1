//! Sums of the costs of calls, as people and programs read them.

use super::amount::{format_dollars, round_dollars};
pub use loomrec_recording::PriceSource;

/// Shown for a call with an unknown cost.
pub const UNKNOWN: &str = "unknown";

/// Formats a sum of costs, of which this many are unknown.
pub fn sum_words(known: f64, unknown: u64) -> String {
    match (known, unknown) {
        (_, 0) => format_dollars(known),
        (0.0, _) => UNKNOWN.to_owned(),
        _ => format!("≥ {}", format_dollars(known)),
    }
}

/// Returns a sum of costs for programs; `None` if all of them are unknown.
pub fn known_sum(known: f64, unknown: u64) -> Option<f64> {
    (unknown == 0 || known != 0.0).then(|| round_dollars(known))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sum_says_that_a_part_of_it_is_unknown() {
        let told = [sum_words(0.0, 0), sum_words(0.0, 2), sum_words(0.5, 1)];
        assert_eq!(told, ["$0", "unknown", "≥ $0.5000"]);
        let told = [known_sum(0.0, 0), known_sum(0.0, 2), known_sum(0.5, 1)];
        assert_eq!(told, [Some(0.0), None, Some(0.5)]);
    }
}
