//! The run for one recording: what there is to send, what prevents it, and the result.

use std::sync::Arc;

use super::collect::CollectedCalls;
use super::filter::RerecordFilter;
use super::new_answers::NewAnswersFile;
use super::origin::OriginFiles;
use super::plan::RerecordPlan;
use super::progress::{RerecordCounts, RerecordProgress};
use super::report::RerecordReport;
use super::sender::RerecordWork;
use crate::args::RerecordArgs;
use loomrec_cli::exit::{CommandFailure, NO, NOT_KEPT};
use loomrec_cli::output::{Output, print};
use loomrec_cli::{prices, terminal};
use loomrec_store::RecordingLocation;
use loomrec_telemetry::run_counters::RunCounters;

/// How many calls a message names.
const NAMED: usize = 5;

/// A run for one recording, before anything is sent.
pub(super) struct RerecordRun {
    origin: OriginFiles,
    work: Arc<RerecordWork>,
    new: NewAnswersFile,
    pub(super) collected: CollectedCalls,
    /// The number of calls to send.
    pub(super) total: usize,
}

/// How a run ended.
pub(super) struct RerecordEnd {
    pub(super) code: u8,
    /// Whether it was stopped before everything was sent.
    pub(super) is_stopped: bool,
}

impl RerecordRun {
    /// Reads what there is to send.
    ///
    /// # Errors
    /// A file that cannot be used; no call that can be sent.
    pub(super) fn prepare(
        args: &RerecordArgs,
        origin: OriginFiles,
        output: &Output,
    ) -> Result<Self, CommandFailure> {
        let work = Arc::new(RerecordWork::open(args, &origin, output)?);
        let new = NewAnswersFile::open(&origin.new, output)?;
        let mut choice = RerecordFilter::from_args(args);
        let plan = RerecordPlan::with_prices(Arc::new(prices::load_table(args.prices.as_deref())?));
        let collected = work.sources.collect_calls(&work.maker, &mut choice, &new, plan)?;
        refuse_unsendable(&collected, &origin)?;
        report_left_out(&collected, output);
        let total = collected.lanes.iter().map(|lane| lane.items.len()).sum();
        Ok(Self { origin, work, new, collected, total })
    }

    /// Reports when nothing is sent: shows the plan, or says that there is nothing to send.
    pub(super) fn show_plan(
        &self,
        args: &RerecordArgs,
        output: &Output,
    ) -> Result<u8, CommandFailure> {
        let nothing = || {
            let (counts, counters) = (RerecordCounts::default(), RunCounters::default());
            self.report_result(args, (&counts, &counters, 0), 0, output)
        };
        let collected = &self.collected;
        if args.json {
            return nothing();
        }
        match (self.total, collected.done) {
            (0, 0) if !collected.stale.is_empty() => {
                output.warning("nothing was sent: every call was left out");
                return Ok(NO);
            }
            (0, 0) => output.info("there is nothing to send"),
            (0, done) => output.info(&format!(
                "there is nothing to send: the new answers ({done}) are there already"
            )),
            _ => {
                print(&collected.dry_run_text())?;
                return Ok(if collected.unsendable.is_empty() { 0 } else { NO });
            }
        }
        if collected.done > 0 { nothing() } else { Ok(0) }
    }

    /// Sends everything, and reports it.
    pub(super) async fn send_all(
        &mut self,
        args: &RerecordArgs,
        output: &Output,
    ) -> Result<RerecordEnd, CommandFailure> {
        let fresh = self.new.create_if_missing(&self.work.maker.rules)?;
        let counters = Arc::<RunCounters>::default();
        let progress = Arc::new(RerecordProgress::new(self.total, output, Arc::clone(&counters)));
        let lanes = std::mem::take(&mut self.collected.lanes);
        let sent = self.work.send_all(args, &self.origin.new, lanes, &progress, &counters).await;
        let counts = progress.finish();
        if fresh && counts.kept_count() == 0 {
            remove_empty(&self.origin.new);
        }
        let over = counts.kept_count() + counts.unkept + counts.failed.len() as u64;
        let left = self.total.saturating_sub(usize::try_from(over).unwrap_or(usize::MAX));
        let code = self.report_result(args, (&counts, &counters, sent?), left, output)?;
        Ok(RerecordEnd { code, is_stopped: left > 0 })
    }

    /// Prints the result and returns the exit code.
    fn report_result(
        &self,
        args: &RerecordArgs,
        (counts, counters, connections): (&RerecordCounts, &RunCounters, u64),
        left: usize,
        output: &Output,
    ) -> Result<u8, CommandFailure> {
        let report = RerecordReport {
            file: &self.origin.file,
            new: &self.origin.new,
            is_elsewhere: args.output.is_some(),
            collected: &self.collected,
            counts,
            more: &counters.to_detail(),
            connections,
            left,
        };
        print_result(args, &report, output)
    }
}

/// Refuses a run in which no call can be sent, or one would take the place of another.
fn refuse_unsendable(
    collected: &CollectedCalls,
    origin: &OriginFiles,
) -> Result<(), CommandFailure> {
    if !collected.taken.is_empty() {
        let new = origin.new.display();
        return Err(CommandFailure::usage(format!(
            "{new} holds answers to other requests in the place of {}: review them first (loomrec \
             review {} -o {new}), or delete it",
            list_keys(&collected.taken),
            origin.file.display(),
        )));
    }
    if collected.unsendable.is_empty() || !collected.lanes.is_empty() || collected.done > 0 {
        return Ok(());
    }
    let mut text = String::from("nothing was sent, because no call can be sent:");
    for (why, keys) in &collected.unsendable {
        text.push_str(&format!("\n  {}: {why}", list_keys(keys)));
    }
    Err(CommandFailure::usage(text))
}

/// Reports which calls are left out, and why.
fn report_left_out(collected: &CollectedCalls, output: &Output) {
    for (why, keys) in &collected.unsendable {
        output.warning(&format!("left out: {}: {why}", list_keys(keys)));
    }
    if !collected.stale.is_empty() {
        output.warning(&format!(
            "left out: {}: the recording has changed since that replay, which may not miss them \
             any more; replay again with --pending",
            list_keys(&collected.stale)
        ));
    }
}

/// Formats the first of some keys, and how many more there are.
fn list_keys(keys: &[String]) -> String {
    let first: Vec<_> = keys.iter().take(NAMED).map(|key| terminal::printable_line(key)).collect();
    match keys.len().saturating_sub(NAMED) {
        0 => first.join(", "),
        more => format!("{} and {more} more", first.join(", ")),
    }
}

/// Prints the result and returns the exit code.
fn print_result(
    args: &RerecordArgs,
    report: &RerecordReport<'_>,
    output: &Output,
) -> Result<u8, CommandFailure> {
    if args.json {
        let text = format!("{:#}\n", report.to_json());
        print(&terminal::printable_json(&text))?;
    } else if report.is_ok() {
        output.print_report(&report.to_text());
    } else {
        output.failed_report(&report.to_text());
    }
    Ok(match (report.is_unkept(), report.is_ok()) {
        (true, _) => NOT_KEPT,
        (false, true) => 0,
        (false, false) => NO,
    })
}

/// Removes a file of new answers that contains none.
fn remove_empty(path: &RecordingLocation) {
    let empty = loomrec_store::Recording::open(path).is_ok_and(|new| new.names().next().is_none());
    if empty {
        // An empty file that cannot be removed does no harm.
        let _ = std::fs::remove_file(path.as_path());
    }
}
