//! Which exchanges were open at the same time as others.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The exchanges of a recorder.
#[derive(Debug, Default)]
pub(super) struct OverlapCounter {
    /// How many exchanges have begun.
    begun: AtomicUsize,
    /// The answers of how many of them have not ended.
    open: AtomicUsize,
}

/// One exchange, from its request to the end of its answer.
#[derive(Debug)]
pub(super) struct OverlapWatch {
    /// How many exchanges had begun, with this one.
    begun: usize,
    /// Whether another exchange was open when this one began.
    has_met_another: bool,
    is_over: AtomicBool,
}

impl OverlapCounter {
    /// Begins an exchange.
    pub(super) fn begin_exchange(&self) -> OverlapWatch {
        let begun = self.begun.fetch_add(1, Ordering::AcqRel) + 1;
        let has_met_another = self.open.fetch_add(1, Ordering::AcqRel) > 0;
        OverlapWatch { begun, has_met_another, is_over: AtomicBool::new(false) }
    }

    /// Notes that the answer of an exchange ends: its client has not got the end yet. Returns whether
    /// another exchange was open at the same time.
    pub(super) fn end_answer(&self, watch: &OverlapWatch) -> bool {
        if !watch.is_over.swap(true, Ordering::AcqRel) {
            self.open.fetch_sub(1, Ordering::AcqRel);
        }
        watch.has_met_another || self.begun.load(Ordering::Acquire) != watch.begun
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exchanges_overlap_if_one_begins_before_the_other_ends() {
        let counter = OverlapCounter::default();
        let alone = counter.begin_exchange();
        assert!(!counter.end_answer(&alone));
        let (long, short) = (counter.begin_exchange(), counter.begin_exchange());
        assert!(counter.end_answer(&short));
        assert!(counter.end_answer(&short), "its end was noted before");
        assert!(counter.end_answer(&long), "it began first and ended last");
        let next = counter.begin_exchange();
        assert!(!counter.end_answer(&next));
    }
}
