//! A histogram of durations, made of atomics.
//!
//! The client library's own histogram has a lock, on which calls that are answered at the same time
//! would wait. This one has none. The library still encodes it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Upper bounds for loomrec's own durations, in seconds: 10 µs to 1 s.
pub(super) const SHORT: &[f64] = &[
    0.00001, 0.000025, 0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05,
    0.1, 0.25, 1.0,
];

/// Upper bounds for durations of models, in seconds: 5 ms to 5 minutes.
pub(super) const LONG: &[f64] =
    &[0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0];

/// A histogram of durations.
#[derive(Debug)]
pub(super) struct TimeHistogram {
    bounds: &'static [f64],
    /// One count for each bound, and one for durations above all of them.
    counts: Box<[AtomicU64]>,
    /// In nanoseconds: a sum of integers does not depend on their order.
    sum: AtomicU64,
}

/// The contents of a [`TimeHistogram`] at one moment.
#[derive(Debug)]
pub(super) struct HistogramReading {
    /// The sum, in seconds.
    pub(super) sum: f64,
    /// The number of durations.
    pub(super) count: u64,
    /// Upper bounds with the number of durations between the bound before and this one. The last
    /// bound is infinite.
    pub(super) buckets: Vec<(f64, u64)>,
}

impl TimeHistogram {
    /// Creates an empty histogram with these upper bounds, in seconds.
    pub(super) fn new(bounds: &'static [f64]) -> Self {
        let counts = (0..=bounds.len()).map(|_| AtomicU64::default()).collect();
        Self { bounds, counts, sum: AtomicU64::default() }
    }

    /// Adds a duration.
    pub(super) fn add(&self, took: Duration) {
        let seconds = took.as_secs_f64();
        let place = self.bounds.partition_point(|bound| *bound < seconds);
        self.sum.fetch_add(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX), Ordering::Relaxed);
        self.counts[place].fetch_add(1, Ordering::Relaxed);
    }

    /// Returns the current contents. The count is the sum of the buckets, even if durations are
    /// added meanwhile.
    pub(super) fn to_reading(&self) -> HistogramReading {
        let bounds = self.bounds.iter().copied().chain([f64::INFINITY]);
        let counts = self.counts.iter().map(|count| count.load(Ordering::Relaxed));
        let buckets: Vec<(f64, u64)> = bounds.zip(counts).collect();
        let count = buckets.iter().map(|(_, count)| count).sum();
        let sum = Duration::from_nanos(self.sum.load(Ordering::Relaxed)).as_secs_f64();
        HistogramReading { sum, count, buckets }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_in_the_first_bucket_that_holds_them_when_on_a_bound_too() {
        let timing = TimeHistogram::new(&[0.001, 0.01]);
        for micros in [0, 1_000, 1_001, 10_000, 10_001, 5_000_000] {
            timing.add(Duration::from_micros(micros));
        }
        let HistogramReading { sum, count, buckets } = timing.to_reading();
        assert_eq!(buckets, [(0.001, 2), (0.01, 2), (f64::INFINITY, 2)]);
        assert_eq!((count, sum), (6, 5.022_002));
    }

    #[test]
    fn bounds_rise() {
        for bounds in [SHORT, LONG] {
            assert!(bounds.windows(2).all(|pair| pair[0] < pair[1]), "{bounds:?}");
        }
    }

    #[test]
    fn nothing_is_lost_when_several_threads_add() {
        let timing = TimeHistogram::new(SHORT);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..1000).for_each(|_| timing.add(Duration::from_micros(30))));
            }
        });
        let read = timing.to_reading();
        assert_eq!((read.count, read.buckets[2].1, read.sum), (4000, 4000, 0.12));
    }
}
