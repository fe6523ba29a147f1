//! Durations as Go writes them: `1m2.5s`, `480ms`.

/// Returns the milliseconds of a duration; `None` if it is not one, or is 0 and thus unknown.
pub(super) fn parse_milliseconds(text: &str) -> Option<f64> {
    let (mut rest, mut whole) = (text.trim(), 0.0);
    while !rest.is_empty() {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let number: f64 = rest[..digits].parse().ok()?;
        let unit_and_rest = &rest[digits..];
        let end = unit_and_rest.find(|c: char| c.is_ascii_digit());
        let (unit, next) = unit_and_rest.split_at(end.unwrap_or(unit_and_rest.len()));
        whole += number
            * match unit {
                "ns" => 1e-6,
                "us" | "µs" | "μs" => 1e-3,
                "ms" => 1.0,
                "s" => 1e3,
                "m" => 60e3,
                "h" => 3600e3,
                _ => return None,
            };
        rest = next;
    }
    (whole > 0.0 && whole.is_finite()).then_some(whole)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duration_of_go_is_read_in_milliseconds() {
        for (text, wanted) in
            [("480ms", Some(480.0)), ("1m2.5s", Some(62500.0)), ("1h", Some(3.6e6))]
        {
            assert_eq!(parse_milliseconds(text), wanted, "{text}");
        }
        assert_eq!(parse_milliseconds("250µs"), Some(0.25));
        for text in ["", "0s", "12", "ms", "1x", "1.2.3s"] {
            assert_eq!(parse_milliseconds(text), None, "{text}");
        }
    }
}
