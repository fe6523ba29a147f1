//! Random numbers from a seed, and how long the proofs run.

use std::io::Write as _;

/// A sequence of numbers (splitmix64). A test that fails while it holds one prints its seed.
pub(crate) struct Chance {
    seed: u64,
    state: u64,
}

impl Chance {
    /// The sequence for `PROOF_SEED`, or for a fixed seed.
    pub(crate) fn new() -> Self {
        let given = std::env::var("PROOF_SEED").ok().map(|seed| seed.parse().unwrap());
        Self::of(given.unwrap_or(20_261_122))
    }

    pub(crate) fn of(seed: u64) -> Self {
        Self { seed, state: seed }
    }

    /// The seed of the sequence.
    pub(crate) fn seed(&self) -> u64 {
        self.seed
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        usize::try_from(self.next() % end as u64).unwrap()
    }

    /// A separate sequence for another thread.
    pub(crate) fn fork(&mut self) -> Self {
        Self { seed: self.seed, state: self.next() }
    }
}

impl Drop for Chance {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let _ =
                writeln!(std::io::stderr(), "the moments were those of PROOF_SEED={}", self.seed);
        }
    }
}

/// `full` with `PROOF=full` in the environment, else `short`.
pub(crate) fn rounds(short: usize, full: usize) -> usize {
    match std::env::var("PROOF").as_deref() {
        Ok("full") => full,
        _ => short,
    }
}

/// Reports that a proof was skipped, past the harness, which hides the output of passing tests.
pub(crate) fn skipped(test: &str, why: &str) {
    let _ = writeln!(std::io::stderr(), "SKIPPED {test}: {why}");
}
