//! Dollars as people read them.

/// Formats dollars with a useful number of digits: an amount that is not nothing never looks like
/// nothing. The inspector's page does the same (`money` in its `text.js`).
pub fn format_dollars(dollars: f64) -> String {
    match dollars {
        0.0 => "$0".to_owned(),
        tiny if tiny.abs() < 1e-12 => format!("${tiny:e}"),
        small if small.abs() < 0.000_001 => {
            // Two digits that are not leading zeros.
            let digits = (1.0 - small.abs().log10().floor()) as usize;
            format!("${small:.digits$}").trim_end_matches('0').to_owned()
        }
        small if small.abs() < 0.01 => format!("${small:.6}"),
        middle if middle.abs() < 1.0 => format!("${middle:.4}"),
        large => format!("${large:.2}"),
    }
}
