//! How far a run on a terminal is: calls, tokens, cost and misses. A server draws a live line. A
//! command writes to the same terminal, so beside it a plain line is printed now and then.

use std::sync::Arc;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use loomrec_cli::output::Output;
use loomrec_cli::pricing::sum_words;
use loomrec_telemetry::run_counters::RunCounters;

/// How often the line is redrawn.
const REDRAW: Duration = Duration::from_millis(200);

/// The time until the first line beside a command. Each further one takes twice as long, up to
/// [`LAST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_secs(5);

/// The longest time between two lines beside a command.
const LAST_PAUSE: Duration = Duration::from_secs(60);

/// How a run says how far it is.
#[derive(Debug)]
pub enum RunProgress {
    /// Not at all: nobody watches, or it shall be quiet.
    Hidden,
    /// A line that is redrawn.
    LiveLine(Arc<ProgressBar>),
    /// Lines between those of a command.
    BesideCommand(Output),
}

impl RunProgress {
    /// Shows the counters while `work` runs.
    pub async fn show_during<T>(
        self,
        counters: Arc<RunCounters>,
        work: impl Future<Output = T>,
    ) -> T {
        let (shown, bar) = match self {
            Self::Hidden => return work.await,
            Self::LiveLine(bar) => {
                (tokio::spawn(update_bar(Arc::clone(&bar), counters)), Some(bar))
            }
            Self::BesideCommand(output) => (tokio::spawn(print_lines(output, counters)), None),
        };
        let result = work.await;
        shown.abort();
        bar.iter().for_each(|bar| bar.finish_and_clear());
        result
    }
}

/// Returns the output and the progress of a server without a command: a live line if one may be
/// drawn.
pub fn above_live_line(output: Output, is_hidden: bool) -> (Output, RunProgress) {
    if is_hidden || !output.may_draw() {
        return (output, RunProgress::Hidden);
    }
    let bar = create_line();
    (output.above_line(Arc::clone(&bar)), RunProgress::LiveLine(bar))
}

/// Returns the output and the progress of a run with a command.
pub fn beside_command(output: Output) -> (Output, RunProgress) {
    let output = output.beside_command();
    let progress = match output.may_draw() {
        true => RunProgress::BesideCommand(output.clone()),
        false => RunProgress::Hidden,
    };
    (output, progress)
}

/// Creates a live line on stderr.
pub fn create_line() -> Arc<ProgressBar> {
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template("{spinner:.cyan} {msg} {elapsed:.dim}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
    Arc::new(bar)
}

/// Creates a live line that is drawn once it is shown.
#[cfg(feature = "remote")]
pub fn hidden_line() -> Arc<ProgressBar> {
    let line = create_line();
    line.set_draw_target(ProgressDrawTarget::hidden());
    line
}

/// Draws a hidden line on stderr from now on.
#[cfg(feature = "remote")]
pub fn show_line(line: &ProgressBar) {
    line.set_draw_target(ProgressDrawTarget::stderr());
}

/// Creates a progress bar on stderr for this many calls.
pub fn create_bar(calls: u64) -> Arc<ProgressBar> {
    let bar = ProgressBar::with_draw_target(Some(calls), ProgressDrawTarget::stderr());
    let style = ProgressStyle::with_template("{bar:24.cyan} {pos}/{len} {msg} {elapsed:.dim}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar.enable_steady_tick(REDRAW);
    Arc::new(bar)
}

/// Keeps `bar` up to date until it is dropped.
async fn update_bar(bar: Arc<ProgressBar>, counters: Arc<RunCounters>) {
    loop {
        bar.set_message(counts_text(&counters));
        bar.tick();
        tokio::time::sleep(REDRAW).await;
    }
}

/// Prints a line after each pause in which there were calls. Never returns.
async fn print_lines(output: Output, counters: Arc<RunCounters>) {
    let began = Instant::now();
    let (mut pause, mut printed) = (FIRST_PAUSE, String::new());
    loop {
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(LAST_PAUSE);
        let (now, open) = (counts_text(&counters), RunCounters::counter_value(&counters.open));
        if open > 0 || now != printed {
            let seconds = began.elapsed().as_secs();
            output.transient_info(&format!("loomrec: after {seconds} s: {now} · {open} open"));
        }
        printed = now;
    }
}

/// Formats the counts in a few words.
fn counts_text(counters: &RunCounters) -> String {
    let more = counters.to_detail();
    let counts = [&counters.served, &counters.recorded, &counters.scripted];
    let calls: u64 = counts.into_iter().map(RunCounters::counter_value).sum();
    let mut text = format!(
        "{calls} calls · {} tokens · {}",
        more.input_tokens.saturating_add(more.output_tokens),
        sum_words(more.cost_usd, more.unknown_costs)
    );
    let missed = counters.missed_calls();
    if missed > 0 {
        text.push_str(&format!(" · {missed} missed"));
    }
    let unkept = RunCounters::counter_value(&counters.unkept);
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
        RunCounters::add_one(&counters.recorded);
        counters.add_tokens(100, 20, Some(0.5));
        assert_eq!(counts_text(&counters), "1 calls · 120 tokens · $0.5000");
        counters.add_unkept("disk full");
        assert!(counts_text(&counters).ends_with("1 NOT KEPT"));
    }
}
