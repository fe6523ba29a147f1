//! The results as Markdown.

use std::fmt::Write as _;
use std::time::Duration;

use crate::load::Sample;
use crate::plan::{Scale, System};
use crate::round::Outcome;

const HEAD: &str = "\
| workload | connections | system | requests/s | ratio | p50 us | added p50 | p99 us | first byte us | added first byte | chunks |
|---|--:|---|--:|--:|--:|--:|--:|--:|--:|--:|
";

const NOTES: &str = "\
Every system is a process of its own on loopback, called in turn by one load generator on the
same machine. Figures are medians over the rounds. `ratio` is requests per second over those of
the row whose ratio is 1.00, `added` is time over the first row of the workload, both taken round
by round. `first byte` is the first byte of the body, `chunks` the transfer-coded chunks of an
answer (fewest\u{2013}most where they differ).
";

/// The whole text.
pub fn render(scale: Scale, machine: &str, outcomes: &[Outcome]) -> String {
    let mut text = format!("# loomrec: load\n\n{machine}{} rounds.\n\n{HEAD}", scale.rounds);
    for outcome in outcomes {
        for index in 0..outcome.samples.len() {
            text.push_str(&row(outcome, index));
        }
    }
    text.push('\n');
    text.push_str(NOTES);
    for outcome in outcomes {
        if let Some(recorded) = outcome.recorded {
            let workload = outcome.workload;
            // Writing to a String cannot fail.
            let _ = writeln!(
                text,
                "{}, {} at a time: {recorded} distinct calls into one new recording.",
                workload.name, workload.connections
            );
        }
    }
    text
}

/// The row of one system.
fn row(outcome: &Outcome, index: usize) -> String {
    let workload = outcome.workload;
    let system = workload.systems[index];
    let own = &outcome.samples[index];
    let first = &outcome.samples[0];
    let reference = workload.systems.iter().position(|other| *other == workload.reference);
    let reference = &outcome.samples[reference.unwrap_or(0)];
    let name = match system {
        System::Replay | System::Record => format!("**{}**", system.name()),
        _ => system.name().to_owned(),
    };
    let added = |time: fn(&Sample) -> f64| match index {
        0 => String::new(),
        _ => format!("{:+.0}", median(pairs(own, first).map(|(a, b)| time(a) - time(b)))),
    };
    let of = |value: fn(&Sample) -> f64| median(own.iter().map(value));
    format!(
        "| {} {} | {} | {name} | {:.0} | {:.2} | {:.0} | {} | {:.0} | {:.0} | {} | {} |\n",
        workload.name,
        workload.what,
        workload.connections,
        of(|sample| sample.per_second),
        median(pairs(own, reference).map(|(a, b)| a.per_second / b.per_second)),
        of(|sample| micros(sample.p50)),
        added(|sample| micros(sample.p50)),
        of(|sample| micros(sample.p99)),
        of(|sample| micros(sample.first)),
        added(|sample| micros(sample.first)),
        chunks(own),
    )
}

/// Samples of the same rounds.
fn pairs<'a>(
    own: &'a [Sample],
    other: &'a [Sample],
) -> impl Iterator<Item = (&'a Sample, &'a Sample)> {
    own.iter().zip(other)
}

/// The fewest and the most chunks of any answer.
fn chunks(samples: &[Sample]) -> String {
    let fewest = samples.iter().map(|sample| sample.chunks.0).min().unwrap_or(0);
    let most = samples.iter().map(|sample| sample.chunks.1).max().unwrap_or(0);
    if fewest == most { fewest.to_string() } else { format!("{fewest}\u{2013}{most}") }
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

/// The middle value; of two, what lies between them.
fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut sorted: Vec<f64> = values.collect();
    sorted.sort_by(f64::total_cmp);
    let at = |index: usize| sorted.get(index).copied().unwrap_or(0.0);
    let half = sorted.len() / 2;
    if sorted.len() % 2 == 1 {
        at(half)
    } else {
        f64::midpoint(at(half.saturating_sub(1)), at(half))
    }
}
