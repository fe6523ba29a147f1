//! The calls that the inspector shows, read one at a time.

use std::time::{Duration, Instant};

use serde_json::Value;

use loomrec_identity::IdentityRules;
use loomrec_recording::Entry;

/// How long a query looks through calls before it answers.
const WORK: Duration = Duration::from_millis(200);
/// The most calls that it looks through.
const CALLS: u64 = 2000;

/// The calls of a run or a file, by the numbers of their lines.
pub trait InspectedCalls {
    /// Returns the numbers of the first line that is still known, and of the last one.
    fn line_bounds(&self) -> (u64, u64);
    /// Reads the call of a line. `None` if the line is not there any more, or is no call.
    fn read_call(&self, seq: u64) -> Option<ReadCall>;
    /// Returns the identity rules of what is shown.
    fn identity_rules(&self) -> IdentityRules;
}

/// What is known of a call.
#[derive(Debug)]
pub struct ReadCall {
    /// The line of the journal.
    pub line: Value,
    /// The take that answered it, or that was recorded from it; or its request, without an answer.
    pub entry: Option<Entry>,
}

impl ReadCall {
    /// Returns the entry of the call, with the upstream and the session of the call.
    pub(super) fn into_entry(self) -> Option<Entry> {
        let entry = self.entry?;
        let text = |name: &str| self.line.get(name).and_then(Value::as_str).map(str::to_owned);
        Some(Entry { upstream: text("upstream"), session: text("session"), ..entry })
    }
}

/// The work that one answer may take: at least one call, and no more after a while.
#[derive(Debug)]
pub(super) struct WorkBound {
    began: Instant,
    calls: u64,
}

impl WorkBound {
    pub(super) fn begin() -> Self {
        Self { began: Instant::now(), calls: 0 }
    }

    /// Whether one more call may be looked at. Counts it.
    pub(super) fn has_left(&mut self) -> bool {
        self.calls += 1;
        self.calls == 1 || (self.calls <= CALLS && self.began.elapsed() < WORK)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_ends_after_some_calls_but_never_before_the_first() {
        let mut bound = WorkBound { began: Instant::now() - WORK, calls: 0 };
        assert!(bound.has_left() && !bound.has_left());
        let mut bound = WorkBound::begin();
        assert!((0..=CALLS).any(|_| !bound.has_left()));
    }
}
