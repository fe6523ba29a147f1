//! Which call continues which, of the latest calls. Histories of requests are read once and kept as
//! hashes, of a bounded number of calls.

use std::collections::VecDeque;

use serde_json::{Value, json};

use super::inspected_calls::{InspectedCalls, ReadCall, WorkBound};
use loomrec_curation::history::{RequestHistory, continued_calls};

/// The most calls whose histories are kept.
const CALLS: usize = 10_000;
/// About how many hashes of messages are kept: 32 bytes each.
const BLOCKS: usize = 2 << 20;

/// The histories of the latest calls that were read so far.
#[derive(Debug, Default)]
pub struct ReadHistories {
    /// The number of the last line that was read.
    read: u64,
    kept: VecDeque<(u64, RequestHistory)>,
    blocks: usize,
}

impl ReadHistories {
    /// Reads on, and returns which call continues which once all calls are read.
    pub(super) fn read_on(&mut self, calls: &dyn InspectedCalls, bound: &mut WorkBound) -> Value {
        let (first, last) = calls.line_bounds();
        if self.read > last {
            *self = Self::default();
        }
        let earliest = last.saturating_sub(CALLS as u64);
        self.read = self.read.max(first.saturating_sub(1)).max(earliest);
        while self.read < last && bound.has_left() {
            self.read += 1;
            let entry = calls.read_call(self.read).and_then(ReadCall::into_entry);
            if let Some(history) = entry.as_ref().and_then(RequestHistory::of_entry) {
                self.blocks += history.message_count();
                self.kept.push_back((self.read, history));
            }
            while self.kept.len() > CALLS || self.blocks > BLOCKS {
                let Some((_, oldest)) = self.kept.pop_front() else { break };
                self.blocks -= oldest.message_count();
            }
        }
        let more = self.read < last;
        let continues = if more { Vec::new() } else { self.continued_pairs() };
        json!({ "v": 1, "continues": continues, "after": self.read, "more": more })
    }

    /// Returns pairs of numbers: a call, and the earlier one that it continues.
    fn continued_pairs(&self) -> Vec<[u64; 2]> {
        let histories: Vec<_> = self.kept.iter().map(|(_, history)| Some(history)).collect();
        let seq = |at: usize| self.kept.get(at).map(|(seq, _)| *seq);
        let found = continued_calls(&histories).into_iter().enumerate();
        found.filter_map(|(at, continued)| Some([seq(at)?, seq(continued?.earlier)?])).collect()
    }
}
