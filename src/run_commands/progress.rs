//! The live line: calls, tokens, cost and misses while a server runs on a terminal.

use std::sync::Arc;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use loomrec_cli::pricing::sum_words;
use loomrec_telemetry::run_counters::RunCounters;

/// How often the line is redrawn.
const REDRAW: Duration = Duration::from_millis(200);

/// Creates a live line on stderr.
pub fn line() -> Arc<ProgressBar> {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template("{spinner:.cyan} {msg} {elapsed:.dim}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
    Arc::new(bar)
}

/// Creates a live line that is drawn once it is shown.
#[cfg(feature = "remote")]
pub fn hidden_line() -> Arc<ProgressBar> {
    let line = line();
    line.set_draw_target(ProgressDrawTarget::hidden());
    line
}

/// Draws a hidden line on stderr from now on.
#[cfg(feature = "remote")]
pub fn show(line: &ProgressBar) {
    line.set_draw_target(ProgressDrawTarget::stderr());
}

/// Creates a progress bar on stderr for this many calls.
pub fn bar(calls: u64) -> Arc<ProgressBar> {
    let bar = ProgressBar::with_draw_target(Some(calls), ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template("{bar:24.cyan} {pos}/{len} {msg} {elapsed:.dim}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.enable_steady_tick(REDRAW);
    Arc::new(bar)
}

/// Keeps `bar` up to date until it is dropped.
pub async fn follow(bar: Arc<ProgressBar>, counters: Arc<RunCounters>) {
    loop {
        bar.set_message(text(&counters));
        bar.tick();
        tokio::time::sleep(REDRAW).await;
    }
}

/// Formats the counts in a few words.
fn text(counters: &RunCounters) -> String {
    let more = counters.more();
    let counts = [&counters.served, &counters.recorded, &counters.scripted];
    let calls: u64 = counts.into_iter().map(RunCounters::read).sum();
    let mut text = format!(
        "{calls} calls · {} tokens · {}",
        more.input_tokens + more.output_tokens,
        sum_words(more.cost_usd, more.unknown_costs)
    );
    let missed = counters.missed();
    if missed > 0 {
        text.push_str(&format!(" · {missed} missed"));
    }
    let unkept = RunCounters::read(&counters.unkept);
    if unkept > 0 {
        text.push_str(&format!(" · {unkept} NOT KEPT"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_counts_calls_tokens_and_cost() {
        let counters = RunCounters::default();
        RunCounters::count(&counters.recorded);
        counters.spend(100, 20, Some(0.5));
        assert_eq!(text(&counters), "1 calls · 120 tokens · $0.5000");
        counters.unkept("disk full");
        assert!(text(&counters).ends_with("1 NOT KEPT"));
    }
}
