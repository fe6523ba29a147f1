//! Counts of calls by method, by the pattern of their path, and by status, under the labels of
//! another tool. Counting needs no lock.

use std::borrow::Cow;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use super::label::{STATUSES, add_one};
use super::time_histogram::TimeHistogram;
use crate::call_record::{CallRecord, SendEnd};
use loomrec_dialect::compat::route_label::{
    BOUNDS, DESTROYED, LABELS, METHODS, label_number, label_text,
};

/// The calls of one method and one label.
#[derive(Debug)]
struct CallCounts {
    /// Counts by status. Index 0 is [`DESTROYED`].
    statuses: Box<[AtomicU64]>,
    took: TimeHistogram,
}

/// The counts of all calls. A slot is allocated when its first call is over.
#[derive(Debug)]
pub(super) struct RouteCounts {
    places: Box<[OnceLock<Box<CallCounts>>]>,
}

/// A series: method, path, and their counts.
pub(super) struct RouteSeries<'a> {
    /// The labels of both metric families.
    pub(super) labels: [(&'static str, &'static str); 2],
    /// The durations of its calls.
    pub(super) took: &'a TimeHistogram,
    calls: &'a CallCounts,
}

impl RouteSeries<'_> {
    /// Returns the statuses that have occurred, with their counts.
    pub(super) fn status_counts(&self) -> Vec<(Cow<'static, str>, u64)> {
        let counts = self.calls.statuses.iter().map(|count| count.load(Ordering::Relaxed));
        let there = counts.enumerate().filter(|(_, count)| *count > 0);
        let named = there.map(|(status, count)| match status {
            0 => (DESTROYED.into(), count),
            status => (status.to_string().into(), count),
        });
        named.collect()
    }
}

impl RouteCounts {
    /// Creates empty counts.
    pub(super) fn new() -> Self {
        Self { places: (0..METHODS.len() * LABELS).map(|_| OnceLock::new()).collect() }
    }

    /// Adds a call that is over.
    pub(super) fn add_call(&self, seen: &CallRecord) {
        let facts = &*seen.facts;
        let known = METHODS.iter().position(|method| *method == facts.method);
        let method = known.unwrap_or(METHODS.len() - 1);
        let calls = self.places[method * LABELS + label_number(&facts.path)].get_or_init(|| {
            let statuses = (0..STATUSES).map(|_| AtomicU64::default()).collect();
            Box::new(CallCounts { statuses, took: TimeHistogram::new(BOUNDS) })
        });
        let status = match (seen.end, seen.status) {
            (SendEnd::Complete, Some(status)) => usize::from(status.as_u16()),
            _ => 0,
        };
        add_one(&calls.statuses[status.min(STATUSES - 1)]);
        calls.took.add(seen.total);
    }

    /// Returns all series that have calls.
    pub(super) fn all_series(&self) -> Vec<RouteSeries<'_>> {
        let there = self.places.iter().enumerate();
        let series = there.filter_map(|(place, calls)| {
            let calls = &**calls.get()?;
            let labels =
                [("method", METHODS[place / LABELS]), ("path", label_text(place % LABELS))];
            Some(RouteSeries { labels, took: &calls.took, calls })
        });
        series.collect()
    }
}
