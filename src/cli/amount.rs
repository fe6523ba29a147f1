//! Amounts as people read and write them, with a useful number of digits.

use std::time::{Duration, SystemTime};

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::args::duration::DURATION_UNITS;

pub use loomrec_recording::cost::format_dollars;

/// Returns how long before `now` an entry was recorded, according to its `recorded_at`. Zero for a
/// time in the future, `None` for a text that is not a timestamp.
pub fn recorded_age(recorded_at: &str, now: SystemTime) -> Option<Duration> {
    let at = OffsetDateTime::parse(recorded_at, &Rfc3339).ok()?;
    let age = OffsetDateTime::from(now) - at;
    Some(Duration::try_from(age).unwrap_or_default())
}

/// Formats a long duration in its largest unit, rounded down.
pub fn format_span(time: Duration) -> String {
    let seconds = time.as_secs();
    let fits = DURATION_UNITS.iter().rev().filter(|(unit, _)| *unit != "w");
    match fits.into_iter().find(|(_, size)| seconds >= *size) {
        Some((unit, size)) => format!("{} {unit}", seconds / size),
        None => "0 s".to_owned(),
    }
}

/// Rounds a sum of dollars to remove the noise of binary fractions.
pub fn round_dollars(dollars: f64) -> f64 {
    (dollars * 1e10).round() / 1e10
}

/// Formats a duration with a useful number of digits.
pub fn format_milliseconds(ms: f64) -> String {
    match ms {
        short if short < 10.0 => format!("{short:.1} ms"),
        middle if middle < 999.5 => format!("{middle:.0} ms"),
        long => format!("{:.2} s", long / 1000.0),
    }
}

/// Formats a count of things: `1 fault`, `2 faults`.
pub fn format_count(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn age_is_told_when_the_time_is_one() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
        let old = |text| recorded_age(text, now).map(|age| age.as_secs());
        assert_eq!(old("2001-09-08T01:46:40.000000Z"), Some(86_400));
        assert_eq!(old("2001-09-08T01:46:39.999999001Z"), Some(86_400));
        assert_eq!(old("2001-09-09T02:46:40+02:00"), Some(3600));
        assert_eq!(old("2101-09-08T01:46:40Z"), Some(0));
        for odd in ["", "yesterday", "2001-09-08", "99999-01-01T00:00:00Z"] {
            assert_eq!(old(odd), None, "{odd:?}");
        }
        let spans =
            [0, 59, 60, 7200, 86_399, 90 * 86_400].map(Duration::from_secs).map(format_span);
        assert_eq!(spans, ["0 s", "59 s", "1 m", "2 h", "23 h", "90 d"]);
    }

    #[test]
    fn amounts_keep_the_digits_that_tell_something() {
        let shown = [0.0, 0.000_003, 0.012_34, 1.5].map(format_dollars);
        assert_eq!(shown, ["$0", "$0.000003", "$0.0123", "$1.50"]);
        let shown = [0.000_000_4, 0.000_000_049, 0.000_000_5, 2e-13].map(format_dollars);
        assert_eq!(shown, ["$0.0000004", "$0.000000049", "$0.0000005", "$2e-13"]);
        let shown = [0.04, 9.96, 999.4, 999.6, 61_843.2].map(format_milliseconds);
        assert_eq!(shown, ["0.0 ms", "10.0 ms", "999 ms", "1.00 s", "61.84 s"]);
    }
}
