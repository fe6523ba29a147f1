//! The clock of a store, as its answers show it.
//!
//! An answer has a `Date` in whole seconds. The store wrote it after the request was sent and before
//! the answer was received, so each answer bounds the difference between the store's clock and this
//! machine's. Several answers together bound it more closely.

use std::sync::{Mutex, PoisonError};

use loomrec_recording::timestamp::format_timestamp;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc2822;

/// Microseconds in a second: the precision of a `Date`.
const SECOND: i64 = 1_000_000;

/// By how many microseconds the store's clock is ahead of this machine's: at least, and at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ClockBounds {
    least: i64,
    most: i64,
}

impl ClockBounds {
    /// Reads the bounds from an answer with this date. All times are in microseconds since 1970, and
    /// the first two are of this machine's clock.
    fn from_answer(sent: i64, received: i64, date: i64) -> Self {
        Self { least: date - received, most: date + SECOND - sent }
    }

    /// Returns what both bounds allow. If that is nothing, a clock was set meanwhile: the newer
    /// bounds are right.
    fn narrowed(self, newer: Self) -> Self {
        let both = Self { least: self.least.max(newer.least), most: self.most.min(newer.most) };
        if both.least <= both.most { both } else { newer }
    }

    /// Returns the difference that is in the middle.
    pub(crate) fn middle(self) -> i64 {
        self.least + self.width() / 2
    }

    /// Returns how far the bounds are apart.
    pub(crate) fn width(self) -> i64 {
        self.most - self.least
    }

    /// Whether the clocks differ by more than this for certain.
    pub(crate) fn exceed(self, difference: i64) -> bool {
        self.least > difference || self.most < -difference
    }

    /// Returns how long to wait before the next request, in microseconds, so that its date tells
    /// which half of the bounds is right: the store's clock then begins a new second if the
    /// difference is in the middle.
    pub(crate) fn wait_for_next(self, now: i64) -> u64 {
        (SECOND - (now + self.middle()).rem_euclid(SECOND)).unsigned_abs()
    }
}

/// What the answers of a store show of its clock.
#[derive(Debug, Default)]
pub(crate) struct StoreClock {
    bounds: Mutex<Option<ClockBounds>>,
}

impl StoreClock {
    /// Notes the `Date` of an answer. One that cannot be read is left out.
    pub(crate) fn note_answer(&self, sent: i64, received: i64, date: &str) {
        let Some(date) = read_date(date).filter(|_| sent <= received) else { return };
        let newer = ClockBounds::from_answer(sent, received, date);
        let mut bounds = self.bounds.lock().unwrap_or_else(PoisonError::into_inner);
        *bounds = Some(bounds.map_or(newer, |known| known.narrowed(newer)));
    }

    /// Returns what is known; `None` if no answer had a date.
    pub(crate) fn known_bounds(&self) -> Option<ClockBounds> {
        *self.bounds.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the times now, of this machine's clock and of the store's, as text. The store's is in
    /// whole seconds.
    pub(crate) fn current_times(&self, now: i64) -> (String, Option<String>) {
        let seconds = |micros: i64| format_timestamp(micros.div_euclid(SECOND) * SECOND);
        (seconds(now), self.known_bounds().map(|bounds| seconds(now + bounds.middle())))
    }
}

/// Returns the time of this machine's clock in microseconds since 1970.
pub(crate) fn machine_time() -> i64 {
    let micros = OffsetDateTime::now_utc().unix_timestamp_nanos() / 1000;
    i64::try_from(micros).unwrap_or_default()
}

/// Reads the date of an HTTP header.
fn read_date(text: &str) -> Option<i64> {
    OffsetDateTime::parse(text.trim(), &Rfc2822)
        .ok()
        .and_then(|date| date.unix_timestamp().checked_mul(SECOND))
}

#[cfg(test)]
mod tests {
    use super::*;
    use loomrec_recording::timestamp::parse_micros;

    const DATE: &str = "Sun, 06 Nov 1994 08:49:37 GMT";

    /// Asks a store whose clock is ahead by `ahead`, at these times.
    fn ask(clock: &StoreClock, ahead: i64, sent: i64, received: i64) {
        let written = i64::midpoint(sent, received) + ahead;
        let date = OffsetDateTime::from_unix_timestamp(written.div_euclid(SECOND)).unwrap();
        clock.note_answer(sent, received, &date.format(&Rfc2822).unwrap());
    }

    #[test]
    fn date_of_an_answer_bounds_the_difference() {
        let date = parse_micros("1994-11-06T08:49:37Z").unwrap();
        let clock = StoreClock::default();
        assert_eq!(clock.known_bounds(), None);
        clock.note_answer(date + 5, date + 7, "yesterday");
        clock.note_answer(date + 7, date + 5, DATE);
        assert_eq!(
            clock.known_bounds(),
            None,
            "a date that cannot be read, and a clock that was set"
        );
        clock.note_answer(date - 600 * SECOND, date - 599 * SECOND, DATE);
        let bounds = clock.known_bounds().unwrap();
        assert_eq!(bounds, ClockBounds { least: 599 * SECOND, most: 601 * SECOND });
        assert!(bounds.exceed(598 * SECOND) && !bounds.exceed(599 * SECOND));
        let (machine, store) = clock.current_times(date + 1);
        assert_eq!(machine, "1994-11-06T08:49:37.000000Z");
        assert_eq!(store.as_deref(), Some("1994-11-06T08:59:37.000000Z"));
    }

    #[test]
    fn requests_at_the_right_times_halve_the_bounds() {
        let start = 1_700_000_000_123_456;
        for ahead in [0, 1, -1, 600_000_000, -600_000_001, 987_654_321, -86_400_000_000] {
            let clock = StoreClock::default();
            ask(&clock, ahead, start, start + 40);
            let mut now = start + 40;
            for _ in 0..12 {
                let bounds = clock.known_bounds().unwrap();
                now += i64::try_from(bounds.wait_for_next(now)).unwrap();
                ask(&clock, ahead, now - 20, now + 20);
                let narrower = clock.known_bounds().unwrap();
                assert!(narrower.width() <= bounds.width() / 2 + 40, "{bounds:?} {narrower:?}");
            }
            let bounds = clock.known_bounds().unwrap();
            assert!(bounds.least <= ahead && ahead <= bounds.most && bounds.width() < 1000);
        }
    }

    #[test]
    fn clock_that_was_set_is_believed_anew() {
        let clock = StoreClock::default();
        ask(&clock, 600 * SECOND, 0, 10);
        ask(&clock, 0, 5 * SECOND, 5 * SECOND + 10);
        let bounds = clock.known_bounds().unwrap();
        assert!(bounds.least <= 0 && bounds.most >= 0);
    }
}
