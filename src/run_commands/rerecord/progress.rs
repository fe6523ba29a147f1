//! The progress of a run: a bar on a terminal, lines elsewhere, and the counts.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use indicatif::ProgressBar;

use crate::progress;
use loomrec_cli::output::Output;
use loomrec_cli::pricing::sum_words;
use loomrec_cli::terminal;
use loomrec_engine::record::rerecord::{AnswerChange, RerecordOutcome};
use loomrec_telemetry::run_counters::RunCounters;

/// How many failures are printed individually.
const TOLD: usize = 20;
/// About how many progress lines are printed without a terminal.
const LINES: usize = 20;

/// The counts of the calls so far.
#[derive(Clone, Debug, Default)]
pub(super) struct RerecordCounts {
    pub(super) answer: u64,
    pub(super) aside: u64,
    pub(super) same: u64,
    pub(super) new: u64,
    pub(super) retries: u64,
    pub(super) unkept: u64,
    pub(super) stopped: u64,
    /// Calls without a new answer, each with the reason.
    pub(super) failed: Vec<(String, String)>,
    told: usize,
}

impl RerecordCounts {
    /// Returns the number of new answers that are on disk.
    pub(super) fn kept_count(&self) -> u64 {
        self.answer + self.aside + self.same + self.new
    }

    fn finished_count(&self) -> usize {
        (self.kept_count() + self.unkept) as usize + self.failed.len()
    }

    fn progress_text(&self, counters: &RunCounters) -> String {
        let more = counters.to_detail();
        let mut text = sum_words(more.cost_usd, more.unknown_costs);
        for (count, word) in [
            (self.answer, "changed"),
            (self.retries, "retried"),
            (self.failed.len() as u64, "failed"),
        ] {
            if count > 0 {
                text.push_str(&format!(" · {count} {word}"));
            }
        }
        text
    }
}

/// Follows the progress of a run.
pub(super) struct RerecordProgress {
    total: usize,
    bar: Option<Arc<ProgressBar>>,
    output: Output,
    counters: Arc<RunCounters>,
    counts: Mutex<RerecordCounts>,
}

impl RerecordProgress {
    /// Creates the progress of a run with `total` calls.
    pub(super) fn new(total: usize, output: &Output, counters: Arc<RunCounters>) -> Self {
        let bar = output.may_draw().then(|| progress::create_bar(total as u64));
        let output =
            bar.iter().fold(output.clone(), |output, bar| output.above_line(Arc::clone(bar)));
        Self { total, bar, output, counters, counts: Mutex::default() }
    }

    /// Returns the output for messages while the bar is drawn.
    pub(super) fn output_above_bar(&self) -> Output {
        self.output.clone()
    }

    fn lock_counts(&self) -> MutexGuard<'_, RerecordCounts> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes the outcome of a call.
    pub(super) fn note_outcome(&self, label: &str, outcome: RerecordOutcome) {
        let mut counts = self.lock_counts();
        match outcome {
            RerecordOutcome::Kept { retries, change } => {
                counts.retries += u64::from(retries > 0);
                match change {
                    AnswerChange::New => counts.new += 1,
                    AnswerChange::Same => counts.same += 1,
                    AnswerChange::Aside => counts.aside += 1,
                    AnswerChange::Answer => counts.answer += 1,
                }
            }
            RerecordOutcome::Failed { retries, why } => {
                counts.retries += u64::from(retries > 0);
                let times =
                    if retries > 0 { format!(" ({} tries)", retries + 1) } else { String::new() };
                let why = terminal::printable_line(&format!("{why}{times}")).into_owned();
                counts.told += 1;
                if counts.told <= TOLD {
                    self.output.error(&format!(
                        "no new answer for {}: {why}",
                        terminal::printable_line(label)
                    ));
                }
                counts.failed.push((label.to_owned(), why));
            }
            // The reason has been reported already, once.
            RerecordOutcome::Unkept(_) => counts.unkept += 1,
            RerecordOutcome::Stopped => counts.stopped += 1,
        }
        let (over, text) = (counts.finished_count(), counts.progress_text(&self.counters));
        drop(counts);
        match &self.bar {
            Some(bar) => {
                bar.set_position(over as u64);
                bar.set_message(text);
            }
            None if over == self.total || over % self.total.div_ceil(LINES).max(1) == 0 => {
                let calls = if self.total == 1 { "call" } else { "calls" };
                self.output.info(&format!("{over} of {} {calls} · {text}", self.total));
            }
            None => {}
        }
    }

    /// Removes the bar and returns the counts.
    pub(super) fn finish(&self) -> RerecordCounts {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
        self.lock_counts().clone()
    }
}
