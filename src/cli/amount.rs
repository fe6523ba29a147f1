//! Amounts as people read them: with the digits that tell something.

/// Dollars with the digits that tell something.
pub(super) fn dollars(dollars: f64) -> String {
    match dollars {
        0.0 => "$0".to_owned(),
        small if small.abs() < 0.01 => format!("${small:.6}"),
        middle if middle.abs() < 1.0 => format!("${middle:.4}"),
        large => format!("${large:.2}"),
    }
}

/// A sum of dollars without the noise of binary fractions.
pub(super) fn rounded(dollars: f64) -> f64 {
    (dollars * 1e10).round() / 1e10
}

/// A time with the digits that tell something.
pub(super) fn milliseconds(ms: f64) -> String {
    match ms {
        short if short < 10.0 => format!("{short:.1} ms"),
        middle if middle < 999.5 => format!("{middle:.0} ms"),
        long => format!("{:.2} s", long / 1000.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_keep_the_digits_that_tell_something() {
        let shown = [0.0, 0.000_003, 0.012_34, 1.5].map(dollars);
        assert_eq!(shown, ["$0", "$0.000003", "$0.0123", "$1.50"]);
        let shown = [0.04, 9.96, 999.4, 999.6, 61_843.2].map(milliseconds);
        assert_eq!(shown, ["0.0 ms", "10.0 ms", "999 ms", "1.00 s", "61.84 s"]);
    }
}
