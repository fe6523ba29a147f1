//! Repeatable chance: rolls that depend only on their arguments.

use sha2::{Digest, Sha256};

/// Returns a number from 0 to below 1 for one rule at one call. The same seed gives the same
/// number, in whatever order rolls are made.
pub fn roll_number(seed: u64, rule: &str, key: &str, call: u64) -> f64 {
    let mut digest = Sha256::new();
    digest.update(b"loomrec fault 1\0");
    digest.update(seed.to_be_bytes());
    // Lengths separate texts that would otherwise read the same.
    for text in [rule, key] {
        digest.update((text.len() as u64).to_be_bytes());
        digest.update(text);
    }
    digest.update(call.to_be_bytes());
    let digest = digest.finalize();
    let first: [u8; 8] = std::array::from_fn(|at| digest[at]);
    // A double holds exactly 53 bits.
    (u64::from_be_bytes(first) >> 11) as f64 / (1_u64 << 53) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roll_is_the_same_for_the_same_and_another_for_anything_else() {
        let roll_of = roll_number(7, "rule", "key", 1);
        assert!((roll_of - roll_number(7, "rule", "key", 1)).abs() < f64::EPSILON);
        for other in [
            roll_number(8, "rule", "key", 1),
            roll_number(7, "rulek", "ey", 1),
            roll_number(7, "rule", "kez", 1),
            roll_number(7, "rule", "key", 2),
        ] {
            assert!((roll_of - other).abs() > f64::EPSILON);
        }
    }

    #[test]
    fn rolls_lie_evenly_between_nought_and_one() {
        let rolls: Vec<f64> = (0..4000).map(|call| roll_number(1, "r", "k", call)).collect();
        assert!(rolls.iter().all(|roll| (0.0..1.0).contains(roll)));
        let below = |rate| rolls.iter().filter(|roll| **roll < rate).count();
        for (rate, around) in [(0.1, 400), (0.5, 2000), (0.9, 3600)] {
            assert!(below(rate).abs_diff(around) < 120, "{} under {rate}", below(rate));
        }
    }
}
