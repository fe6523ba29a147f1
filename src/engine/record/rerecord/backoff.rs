//! The wait before a request is sent again.

use std::time::Duration;

use time::OffsetDateTime;
use time::format_description::well_known::Rfc2822;

/// The first wait, if the upstream does not name one. Each further wait is twice as long.
const FIRST: Duration = Duration::from_millis(500);
/// The longest such wait.
const LONGEST: Duration = Duration::from_secs(30);

/// Returns the wait before try number `retries` + 2, if the upstream does not name one: between
/// half and all of a time that doubles. `key`, in hex, decides where in between, so that the calls
/// do not all come back at the same time.
pub(super) fn jittered_wait(retries: u32, key: &str) -> Duration {
    let whole = FIRST.saturating_mul(1 << retries.min(16)).min(LONGEST);
    let digits = key.get(..4).and_then(|digits| u32::from_str_radix(digits, 16).ok());
    whole / 2 + (whole / 2).mul_f64(f64::from(digits.unwrap_or(0)) / 65536.0)
}

/// Returns the wait that an answer asks for: in milliseconds, in seconds, or until a date.
pub(super) fn requested_wait(
    headers: &[(String, String)],
    now: OffsetDateTime,
) -> Option<Duration> {
    let value = |name: &str| {
        let found = headers.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.trim())
    };
    let number = |text: &str| text.parse::<f64>().ok().filter(|n| n.is_finite() && *n >= 0.0);
    if let Some(ms) = value("retry-after-ms").and_then(number) {
        return Duration::try_from_secs_f64(ms / 1000.0).ok();
    }
    let after = value("retry-after")?;
    if let Some(seconds) = number(after) {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let date = |text: &str| OffsetDateTime::parse(text, &Rfc2822).ok();
    // The date is by the upstream's clock, so use that one if the answer gives its time.
    let now = value("date").and_then(date).unwrap_or(now);
    Some((date(after)? - now).try_into().unwrap_or(Duration::ZERO))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(headers: &[(&str, &str)]) -> Option<Duration> {
        let headers: Vec<_> =
            headers.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        requested_wait(&headers, OffsetDateTime::UNIX_EPOCH)
    }

    #[test]
    fn wait_is_what_the_answer_asks_for() {
        let seconds = |n| Some(Duration::from_secs(n));
        assert_eq!(after(&[("retry-after", "7")]), seconds(7));
        assert_eq!(after(&[("retry-after", "0.25")]), Some(Duration::from_millis(250)));
        let both = [("retry-after", "1"), ("retry-after-ms", "40")];
        assert_eq!(after(&both), Some(Duration::from_millis(40)));
        let date = ("retry-after", "Thu, 01 Jan 1970 00:01:00 GMT");
        assert_eq!(after(&[date]), seconds(60));
        assert_eq!(after(&[("date", "Thu, 01 Jan 1970 00:00:50 GMT"), date]), seconds(10));
        assert_eq!(after(&[("date", "Thu, 01 Jan 1970 00:02:00 GMT"), date]), seconds(0));
        for odd in ["", "soon", "-1", "NaN", "inf", "1e400"] {
            assert_eq!(after(&[("retry-after", odd)]), None, "{odd}");
        }
        assert_eq!(after(&[]), None);
    }

    #[test]
    fn wait_doubles_up_to_a_limit_and_differs_by_key() {
        let (low, high) = (jittered_wait(0, "0000"), jittered_wait(0, "ffff"));
        assert_eq!(low, FIRST / 2);
        assert!(high > low && high <= FIRST);
        assert_eq!(jittered_wait(1, "0000"), FIRST);
        assert!(jittered_wait(u32::MAX, "ffff") <= LONGEST);
        assert_eq!(jittered_wait(0, "no hex"), FIRST / 2);
    }
}
