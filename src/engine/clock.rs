//! The arrival times of requests: unique, rising, and as text.

use std::sync::atomic::{AtomicI64, Ordering};

use time::OffsetDateTime;

pub use loomrec_recording::timestamp::format_timestamp;

/// The clock of arrivals. It is that of this machine, or one that differs from it by a fixed time.
#[derive(Debug, Default)]
pub struct ArrivalClock {
    last: AtomicI64,
    /// By how many microseconds it is ahead of this machine's.
    ahead: i64,
}

impl ArrivalClock {
    /// Creates a clock that is `ahead` microseconds ahead of this machine's.
    pub fn new(ahead: i64) -> Self {
        Self { last: AtomicI64::default(), ahead }
    }

    /// Returns the time now in microseconds since 1970. It is later than every time returned before,
    /// so that arrival times order the calls of a process.
    pub fn next_arrival_time(&self) -> i64 {
        let micros = OffsetDateTime::now_utc().unix_timestamp_nanos() / 1000;
        let now = i64::try_from(micros).unwrap_or(i64::MAX - 1).saturating_add(self.ahead);
        let next = |last: i64| now.max(last + 1);
        match self.last.fetch_update(Ordering::AcqRel, Ordering::Acquire, |last| Some(next(last))) {
            Ok(last) | Err(last) => next(last),
        }
    }
}

/// Returns such a time as text, for the recorder with this place in its run. Two recorders can have
/// a call in the same microsecond, so all but the first append their place as three more digits.
pub fn timestamp_of(micros: i64, place: usize) -> String {
    let text = format_timestamp(micros);
    match place % 1000 {
        0 => text,
        place => format!("{}{place:03}Z", text.trim_end_matches('Z')),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arrival_times_are_unique_and_rising() {
        let clock = ArrivalClock::default();
        let times: Vec<i64> = (0..1000).map(|_| clock.next_arrival_time()).collect();
        assert!(times.windows(2).all(|pair| pair[0] < pair[1]));
        assert_eq!(clock.last.load(Ordering::Relaxed), times[999]);
    }

    #[test]
    fn clock_that_is_ahead_differs_by_that_time() {
        const HOUR: i64 = 3_600_000_000;
        let here = ArrivalClock::default().next_arrival_time();
        for ahead in [HOUR, -HOUR] {
            let there = ArrivalClock::new(ahead).next_arrival_time();
            assert!((there - here - ahead).abs() < HOUR / 60, "{here} {there}");
        }
    }

    #[test]
    fn timestamps_sort_as_text() {
        assert_eq!(format_timestamp(1_700_000_000_000_042), "2023-11-14T22:13:20.000042Z");
        assert!(format_timestamp(999_999) < format_timestamp(1_000_000));
        let of_third = |micros| timestamp_of(micros, 2);
        assert_eq!(of_third(1_700_000_000_000_042), "2023-11-14T22:13:20.000042002Z");
        assert!(format_timestamp(41) < of_third(42) && of_third(42) < format_timestamp(43));
        assert_ne!(of_third(42), timestamp_of(42, 0));
    }
}
