//! Durations as flags give them.

use std::time::Duration;

/// The units of durations, with their seconds.
pub const DURATION_UNITS: [(&str, u64); 5] =
    [("s", 1), ("m", 60), ("h", 3600), ("d", 86_400), ("w", 604_800)];

/// Parses a duration as flags give it: `90m`, `12h`, `30d`.
///
/// # Errors
/// Describes the expected format.
pub fn duration(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let wrong = "it takes a whole number and a unit: 45s, 90m (minutes), 12h, 30d, 8w";
    let (_, seconds) =
        DURATION_UNITS.iter().find(|(name, _)| *name == unit.trim_start()).ok_or(wrong)?;
    let number: u64 = number.parse().map_err(|_| wrong)?;
    let total = number.checked_mul(*seconds).ok_or("this is too long")?;
    Ok(Duration::from_secs(total))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_read_when_it_has_a_number_and_a_unit() {
        let seconds = |text| duration(text).map(|time| time.as_secs()).ok();
        assert_eq!(["0s", "90m", "12h", "30d", "2w", " 1 d "].map(seconds), {
            [Some(0), Some(5400), Some(43_200), Some(2_592_000), Some(1_209_600), Some(86_400)]
        });
        for odd in ["", "30", "d", "-1d", "1.5h", "30 days", "1d2h", "99999999999999999999s"] {
            assert!(duration(odd).is_err(), "{odd:?}");
        }
        assert!(duration(&format!("{}w", u64::MAX)).is_err());
    }
}
