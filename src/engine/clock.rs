//! The arrival times of requests: unique, rising, and as text.

use std::sync::atomic::{AtomicI64, Ordering};

use time::OffsetDateTime;

pub use loomrec_recording::timestamp::timestamp;

/// Returns the time now in microseconds since 1970. It is later than every time returned before, so
/// that arrival times order the calls of a process.
pub fn arrival(clock: &AtomicI64) -> i64 {
    let micros = OffsetDateTime::now_utc().unix_timestamp_nanos() / 1000;
    let now = i64::try_from(micros).unwrap_or(i64::MAX - 1);
    let next = |last: i64| now.max(last + 1);
    match clock.fetch_update(Ordering::AcqRel, Ordering::Acquire, |last| Some(next(last))) {
        Ok(last) | Err(last) => next(last),
    }
}

/// Returns such a time as text, for the recorder with this place in its run. Two recorders can have
/// a call in the same microsecond, so all but the first append their place as three more digits.
pub fn timestamp_of(micros: i64, place: usize) -> String {
    let text = timestamp(micros);
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
        let clock = AtomicI64::new(0);
        let times: Vec<i64> = (0..1000).map(|_| arrival(&clock)).collect();
        assert!(times.windows(2).all(|pair| pair[0] < pair[1]));
        assert_eq!(clock.load(Ordering::Relaxed), times[999]);
    }

    #[test]
    fn timestamps_sort_as_text() {
        assert_eq!(timestamp(1_700_000_000_000_042), "2023-11-14T22:13:20.000042Z");
        assert!(timestamp(999_999) < timestamp(1_000_000));
        let of_third = |micros| timestamp_of(micros, 2);
        assert_eq!(of_third(1_700_000_000_000_042), "2023-11-14T22:13:20.000042002Z");
        assert!(timestamp(41) < of_third(42) && of_third(42) < timestamp(43));
        assert_ne!(of_third(42), timestamp_of(42, 0));
    }
}
