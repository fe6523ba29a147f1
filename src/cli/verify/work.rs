//! Looks at one file: its layout first, and then its entries on all cores, a run of
//! neighbours at a time. What of a file is held does not grow with what it holds.

use std::ops::Range;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::Report;
use crate::store::{Examined, Leftover, StoreError};
use crate::verification::{Checked, Checker, Kind, Layout, Problem, Severity, Unit, check};

/// How much of a file is read at once, where an entry is not longer.
const RUN: u64 = 1024 * 1024;

/// Everything that is wrong with a file.
pub(super) fn verify(path: &Path, checker: &Checker) -> Report {
    let mut report = Report { label: path.display().to_string(), ..Report::default() };
    if let Err(error) = look(path, checker, &mut report) {
        let mut text = format!("failed to {}", error.chain());
        if matches!(error, StoreError::Format { .. }) {
            text.push_str("; loomrec salvage saves what can be read of it");
        }
        report.unreadable = Some(text);
    }
    report.problems.sort_by_key(|problem| problem.line.unwrap_or(0));
    report
}

fn look(path: &Path, checker: &Checker, report: &mut Report) -> Result<(), StoreError> {
    let file = Examined::open(path)?;
    for leftover in file.leftovers()? {
        report.add(left(&leftover));
    }
    let mut layout = file.layout()?;
    layout.problems.drain(..).for_each(|problem| report.add(problem));
    report.entries = layout.units.len();
    let checker = checker.with(layout.rules.clone());
    let runs = runs(&layout.units);
    let next = AtomicUsize::new(0);
    let done = Mutex::new((Vec::new(), Ok(())));
    let worker = || {
        loop {
            let Some(run) = runs.get(next.fetch_add(1, Ordering::Relaxed)) else { return };
            let checked = check_run(&file, &layout.units[run.clone()], &checker);
            let Ok(mut done) = done.lock() else { return };
            match checked {
                Ok(checked) => done.0.push((run.start, checked)),
                Err(error) => done.1 = Err(error),
            }
        }
    };
    let others = std::thread::available_parallelism().map_or(1, usize::from).min(runs.len());
    std::thread::scope(|scope| {
        for _ in 1..others {
            // A system without a thread to spare: the others do its work.
            let _ = std::thread::Builder::new().spawn_scoped(scope, worker);
        }
        worker();
    });
    let (mut checked, outcome) = done.into_inner().unwrap_or_else(|_| (Vec::new(), Ok(())));
    outcome?;
    checked.sort_by_key(|(start, _)| *start);
    for (start, checked) in checked {
        for (at, checked) in checked.into_iter().enumerate() {
            checked.problems.into_iter().for_each(|problem| report.add(problem));
            if checked.readable && !checked.spelt {
                report.foreign.push(start + at);
            }
        }
    }
    spelling(&layout, report);
    Ok(())
}

/// Runs of neighbours, each about as long as [`RUN`].
fn runs(units: &[Unit]) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for (at, unit) in units.iter().enumerate() {
        match runs.last_mut() {
            Some(run) if unit.range.end - units[run.start].range.start <= RUN => run.end = at + 1,
            _ => runs.push(at..at + 1),
        }
    }
    runs
}

/// Checks neighbours, and says of each problem which line of the file it is in.
fn check_run(
    file: &Examined,
    units: &[Unit],
    checker: &Checker,
) -> Result<Vec<Checked>, StoreError> {
    let (Some(first), Some(last)) = (units.first(), units.last()) else { return Ok(Vec::new()) };
    let text = file.text(&(first.range.start..last.range.end))?;
    let place = |at: u64| usize::try_from(at - first.range.start).unwrap_or(usize::MAX);
    let mut checked = Vec::with_capacity(units.len());
    // Where the last lines were counted to, so that a long list is not counted again and
    // again.
    let mut known: Option<(u64, u64, usize)> = None;
    for unit in units {
        let bytes = text.get(place(unit.range.start)..place(unit.range.end)).unwrap_or_default();
        let mut found = check(unit, bytes, checker);
        if !found.problems.is_empty() {
            let (from, line) = match known {
                Some((key, at, line)) if key == unit.at => (at, line),
                _ => (unit.at, unit.line),
            };
            let line = line + file.lines(&(from..unit.range.start))?;
            known = Some((unit.at, unit.range.start, line));
            for problem in &mut found.problems {
                problem.line = Some(line + problem.line.unwrap_or(0));
            }
        }
        checked.push(found);
    }
    Ok(checked)
}

/// A file of ours that someone else has written anew makes large diffs.
fn spelling(layout: &Layout, report: &mut Report) {
    let foreign = report.foreign.len() + layout.foreign;
    if !layout.loomrec || foreign == 0 {
        return;
    }
    let text = format!("{foreign} of its entries and keys are not written as loomrec writes them");
    let problem = Problem::of_file(Kind::Spelling, Severity::Warning, text);
    report.add(problem.helped("--fix writes them anew, so that later diffs are small").mendable());
}

/// A file beside the recording.
fn left(leftover: &Leftover) -> Problem {
    let warning = |text| Problem::of_file(Kind::Leftover, Severity::Warning, text);
    match leftover {
        Leftover::Log { path, entries } => {
            let noun = if *entries == 1 { "call" } else { "calls" };
            warning(format!("{} holds {entries} {noun} that the file lacks", path.display()))
                .helped("--fix puts them into the file, once nobody records into it")
                .mendable()
        }
        Leftover::Torn { path, bytes } => {
            warning(format!("{} holds {bytes} bytes of calls that were cut", path.display()))
                .helped("loomrec salvage tells what they are; then delete it")
        }
        Leftover::Waiting { path } => {
            warning(format!("{} holds changes that wait", path.display()))
                .helped("accept or reject them, or delete it")
        }
    }
}
