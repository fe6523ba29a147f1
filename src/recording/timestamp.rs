//! Conversion between timestamps and text.

use std::ops::Range;

use time::format_description::well_known::{Rfc2822, Rfc3339};
use time::{OffsetDateTime, UtcOffset};

/// Microseconds in a second.
const SECOND: i64 = 1_000_000;

/// Formats a time in microseconds since 1970 as in a recording: RFC 3339, UTC, always six
/// fractional digits.
pub fn format_timestamp(micros: i64) -> String {
    String::from_utf8_lossy(&timestamp_bytes(micros)).into_owned()
}

/// Returns the bytes of that text. A time out of range becomes a time in the first second of 1970.
pub fn timestamp_bytes(micros: i64) -> [u8; 27] {
    let seconds = OffsetDateTime::from_unix_timestamp(micros.div_euclid(SECOND));
    let time = seconds.unwrap_or(OffsetDateTime::UNIX_EPOCH);
    let mut text = *b"0000-00-00T00:00:00.000000Z";
    let mut put = |place: Range<usize>, mut number: u32| {
        for digit in text[place].iter_mut().rev() {
            *digit = b'0' + (number % 10) as u8;
            number /= 10;
        }
    };
    put(0..4, u32::try_from(time.year()).unwrap_or_default());
    put(5..7, u8::from(time.month()).into());
    put(8..10, time.day().into());
    put(11..13, time.hour().into());
    put(14..16, time.minute().into());
    put(17..19, time.second().into());
    put(20..26, micros.rem_euclid(SECOND) as u32);
    text
}

/// Reads a time in any of the formats of other tools (RFC 3339 with any offset or none, RFC 2822).
/// Returns it in the format of a recording.
pub fn normalize_time(text: &str) -> Option<String> {
    let text = text.trim();
    let time = OffsetDateTime::parse(text, &Rfc3339)
        .or_else(|_| OffsetDateTime::parse(&format!("{text}Z"), &Rfc3339))
        .or_else(|_| OffsetDateTime::parse(&text.replace(' ', "T"), &Rfc3339))
        .or_else(|_| OffsetDateTime::parse(text, &Rfc2822))
        .ok()?;
    let time = time.checked_to_offset(UtcOffset::UTC)?;
    let micros = i64::try_from(time.unix_timestamp_nanos().div_euclid(1000)).ok()?;
    Some(format_timestamp(micros))
}

/// Converts a time of a recording to microseconds since 1970.
pub fn parse_micros(text: &str) -> Option<i64> {
    let time = OffsetDateTime::parse(text, &Rfc3339).ok()?;
    i64::try_from(time.unix_timestamp_nanos().div_euclid(1000)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_written_as_they_are_read() {
        for (moment, text) in [
            (0, "1970-01-01T00:00:00.000000Z"),
            (-1, "1969-12-31T23:59:59.999999Z"),
            (951_827_696_789_012, "2000-02-29T12:34:56.789012Z"),
            (253_402_300_799_999_999, "9999-12-31T23:59:59.999999Z"),
            (-62_167_219_200_000_000, "0000-01-01T00:00:00.000000Z"),
        ] {
            assert_eq!(format_timestamp(moment), text);
            assert_eq!(parse_micros(text), Some(moment));
        }
        assert!(
            format_timestamp(i64::MAX).starts_with("1970-01-01T00:00:00."),
            "and nothing panics"
        );
    }

    #[test]
    fn moments_are_read_in_the_spellings_of_other_tools() {
        let known = Some("2026-01-02T03:04:05.500000Z".to_owned());
        assert_eq!(normalize_time("2026-01-02T03:04:05.5Z"), known);
        assert_eq!(normalize_time("2026-01-02T05:04:05.5+02:00"), known);
        assert_eq!(normalize_time("2026-01-02T03:04:05.500"), known);
        let whole = Some("2011-11-01T04:58:44.000000Z".to_owned());
        assert_eq!(normalize_time("Tue, 01 Nov 2011 04:58:44 GMT"), whole);
        assert_eq!(normalize_time("yesterday"), None);
        assert_eq!(parse_micros("1970-01-01T00:00:01.000002Z"), Some(1_000_002));
    }
}
