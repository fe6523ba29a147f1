//! Medians and other quantiles.

use std::time::Duration;

/// Returns the value that a `share` of all values do not exceed.
pub fn quantile(values: impl Iterator<Item = Duration>, share: f64) -> Duration {
    let mut sorted: Vec<Duration> = values.collect();
    sorted.sort_unstable();
    let rank = (sorted.len() as f64 * share).ceil() as usize;
    sorted.get(rank.saturating_sub(1)).copied().unwrap_or_default()
}

/// Returns the median: the middle value, or the mean of the two middle ones. NaN if there are no
/// values.
pub fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_by(f64::total_cmp);
    let at = |index: usize| sorted.get(index).copied().unwrap_or(f64::NAN);
    let half = sorted.len() / 2;
    match sorted.len() % 2 {
        1 => at(half),
        _ => f64::midpoint(at(half.wrapping_sub(1)), at(half)),
    }
}
