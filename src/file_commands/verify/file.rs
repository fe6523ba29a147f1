//! The check of one file: first its layout, then its entries on all cores, a run of adjacent
//! entries at a time. Memory use does not grow with the file.

use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::verify_report::VerifyReport;
use loomrec_curation::verification::{EntryChecker, EntryPlaces, FileLayout, check_entry};
use loomrec_recording::FormatError;
use loomrec_store::{InspectedFile, StoreError};

/// How many bytes of a file are read at once, unless an entry is longer.
const RUN: u64 = 1024 * 1024;
/// How many runs are checked before their results are combined.
const AT_ONCE: usize = 16;

/// Returns why a file cannot be read, and what helps.
pub(super) fn unreadable_reason(error: &StoreError) -> String {
    let mut text = format!("failed to {}", error.error_chain());
    if let StoreError::Format { problem, .. } = error
        && !matches!(**problem, FormatError::NotRecording { .. } | FormatError::Conflict { .. })
    {
        text.push_str("; restore it from version control or a backup, or record again");
    }
    text
}

/// Checks a file and its entries.
pub(super) fn check_entries(
    file: &InspectedFile,
    layout: &mut FileLayout,
    checker: &EntryChecker,
    report: &mut VerifyReport,
) -> Result<(), StoreError> {
    layout.problems.drain(..).for_each(|problem| report.add(problem));
    report.entries += layout.units.len();
    let checker = checker.with_rules(layout.rules.clone());
    let runs = entry_runs(&layout.units);
    let units = &layout.units;
    // Only the results of a few runs are held at a time.
    for runs in runs.chunks(AT_ONCE) {
        for found in on_all_cores(runs, |run| check_run(file, units, run.clone(), &checker)) {
            report.join(found?);
        }
    }
    Ok(())
}

/// Does work on all cores. Returns the result of each piece, in order.
fn on_all_cores<T: Sync, U: Send>(pieces: &[T], work: impl Fn(&T) -> U + Sync) -> Vec<U> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(pieces.len()));
    let worker = || {
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(piece) = pieces.get(at) else { return };
            let came = work(piece);
            let Ok(mut done) = done.lock() else { return };
            done.push((at, came));
        }
    };
    let others = std::thread::available_parallelism().map_or(1, usize::from).min(pieces.len());
    std::thread::scope(|scope| {
        for _ in 1..others {
            // If the system has no thread to spare, the other threads do its work.
            let _ = std::thread::Builder::new().spawn_scoped(scope, worker);
        }
        worker();
    });
    let mut done = done.into_inner().unwrap_or_default();
    done.sort_unstable_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, came)| came).collect()
}

/// Returns runs of adjacent entries, each about [`RUN`] bytes long.
fn entry_runs(units: &EntryPlaces) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    let mut from = 0;
    for (at, range) in units.text_ranges().enumerate() {
        match runs.last_mut() {
            Some(run) if range.end.saturating_sub(from) <= RUN => run.end = at + 1,
            _ => {
                from = range.start;
                runs.push(at..at + 1);
            }
        }
    }
    runs
}

/// Checks adjacent entries, and sets the line of each problem.
fn check_run(
    file: &InspectedFile,
    units: &EntryPlaces,
    run: Range<usize>,
    checker: &EntryChecker,
) -> Result<VerifyReport, StoreError> {
    let mut report = VerifyReport::default();
    let units = units.entries_in(run);
    let (Some(first), Some(last)) = (units.first(), units.last()) else { return Ok(report) };
    let text = file.read_range(&(first.range.start..last.range.end))?;
    let place = |at: u64| usize::try_from(at - first.range.start).unwrap_or(usize::MAX);
    // The position up to which lines were counted, so that a long list is not counted again and
    // again.
    let mut known: Option<(u64, u64, usize)> = None;
    for unit in &units {
        let bytes = text.get(place(unit.range.start)..place(unit.range.end)).unwrap_or_default();
        let mut found = check_entry(unit, bytes, checker);
        if !found.problems.is_empty() {
            let (from, line) = match known {
                Some((key, at, line)) if key == unit.at => (at, line),
                _ => (unit.at, unit.line),
            };
            let line = line + file.count_lines(&(from..unit.range.start))?;
            known = Some((unit.at, unit.range.start, line));
            for problem in &mut found.problems {
                problem.line = Some(line + problem.line.unwrap_or(0));
            }
        }
        report.foreign += usize::from(found.readable && !found.spelt);
        report.add_personal(&found.personal);
        found.problems.into_iter().for_each(|problem| report.add(problem));
    }
    Ok(report)
}
