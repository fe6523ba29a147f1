//! Numbers by chance that a seed gives again, and how long the proofs are to run.

use std::io::Write as _;

/// A sequence of numbers (splitmix64). A test that fails while it holds one says
/// which seed it had.
pub(crate) struct Chance {
    seed: u64,
    state: u64,
}

impl Chance {
    /// The sequence of `PROOF_SEED`, or else of a fixed seed.
    pub(crate) fn new() -> Self {
        let given = std::env::var("PROOF_SEED").ok().map(|seed| seed.parse().unwrap());
        Self::of(given.unwrap_or(20_261_122))
    }

    pub(crate) fn of(seed: u64) -> Self {
        Self { seed, state: seed }
    }

    /// What gives the sequence again.
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

    /// A sequence of its own for another thread.
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

/// `short`, or with `PROOF=full` in the environment, `full`.
pub(crate) fn rounds(short: usize, full: usize) -> usize {
    match std::env::var("PROOF").as_deref() {
        Ok("full") => full,
        _ => short,
    }
}

/// Says that a proof was not made, past the harness that hides what a passing test says.
pub(crate) fn skipped(test: &str, why: &str) {
    let _ = writeln!(std::io::stderr(), "SKIPPED {test}: {why}");
}
