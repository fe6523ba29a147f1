//! The report of the findings as Markdown.

use std::fmt::Write as _;
use std::time::Duration;

use crate::conversation::Compared;
use crate::growth;
use crate::key::Speed;
use crate::load::Sample;
use crate::peer::Peer;
use crate::quantile::median;
use crate::round::Outcome;
use crate::socket::{MessageTimes, SocketTimes};
use crate::start::{self, Sized, Started};
use crate::system::System;
use crate::target::{self, Bound, Target};
use crate::verify::Verified;

/// The tenths of the calls whose costs the table of growth has, from 0.
const SHOWN_TENTHS: [usize; 4] = [0, 1, 4, 9];

/// Everything that a run found.
#[derive(Default)]
pub struct Findings {
    /// The workloads, each with each number of connections.
    pub outcomes: Vec<Outcome>,
    /// How the cost of a recorded call grows, if that was measured.
    pub growth: Option<growth::Results>,
    /// The start-up results, by size.
    pub starts: Vec<Sized>,
    /// How fast keys are computed.
    pub keys: Vec<Speed>,
    /// How long it takes to verify a recording, if that was measured.
    pub verified: Option<Verified>,
    /// How long it takes to compare long conversations, if that was measured.
    pub compared: Option<Compared>,
    /// How long messages over WebSockets take, if that was measured.
    pub sockets: Option<SocketTimes>,
}

impl Findings {
    /// Returns the results of one workload.
    pub fn outcome(&self, name: &str, connections: usize) -> Option<&Outcome> {
        let same = |one: &&Outcome| one.workload.name == name && one.connections == connections;
        self.outcomes.iter().find(same)
    }
}

/// Returns the whole report.
pub fn render(machine: &str, wants: impl Fn(&str) -> bool, findings: &Findings) -> String {
    let mut text = format!("{machine}\n### Targets\n\n");
    text.push_str("| target | at least / at most | measured (rounds) | |\n|---|--:|--:|---|\n");
    for target in target::all(findings).iter().filter(|target| wants(target.workload)) {
        text.push_str(&line(target));
    }
    for outcome in &findings.outcomes {
        text.push_str(&table(outcome));
    }
    if let Some(results) = &findings.growth {
        text.push_str(&grown(results));
    }
    if !findings.starts.is_empty() {
        text.push_str(&started(&findings.starts));
    }
    if !findings.keys.is_empty() {
        text.push_str("\n### key: canonical text and SHA-256, one thread, bodies of 256 KB\n\n");
        text.push_str("| body | MB/s |\n|---|--:|\n");
        for Speed { what, megabytes } in &findings.keys {
            add(&mut text, format_args!("| {what} | {megabytes:.0} |\n"));
        }
    }
    if let Some(verified) = &findings.verified {
        text.push_str(&verify(verified));
    }
    if let Some(compared) = &findings.compared {
        text.push_str(&conversation(compared));
    }
    if let Some(sockets) = &findings.sockets {
        text.push_str(&socket(sockets));
    }
    text.push_str(&busiest(findings));
    text
}

/// Formats the results of verifying.
fn verify(verified: &Verified) -> String {
    let Verified { entries, bytes, ours, python } = verified;
    let megabytes = *bytes as f64 / 1e6;
    let mut text = format!(
        "\n### verify \u{b7} a recording of {entries} calls, {megabytes:.1} MB \u{b7} {} rounds\n\n\
         | command | ms | MB/s |\n|---|--:|--:|\n",
        ours.len(),
    );
    for (name, times) in [("loomrec verify", ours), ("python3 -m json.tool", python)] {
        if times.is_empty() {
            add(&mut text, format_args!("| {name} | not here | |\n"));
            continue;
        }
        let seconds = median(times.iter().copied());
        let speed = megabytes / seconds;
        add(&mut text, format_args!("| {name} | {:.0} | {speed:.0} |\n", seconds * 1000.0));
    }
    text
}

/// Formats the results of reading a long conversation.
fn conversation(compared: &Compared) -> String {
    let Compared { turns, bytes, changed, parted, show } = compared;
    let mut text = format!(
        "\n### conversation \u{b7} runs of {turns} turns, {:.1} MB each \u{b7} {} rounds\n\n\
         | command | ms |\n|---|--:|\n",
        *bytes as f64 / 1e6,
        changed.len(),
    );
    for (name, times) in [
        ("loomrec diff, an early message differs", changed),
        ("loomrec diff, all messages differ", parted),
        ("loomrec show, a late call", show),
    ] {
        let milliseconds = median(times.iter().copied()) * 1000.0;
        add(&mut text, format_args!("| {name} | {milliseconds:.0} |\n"));
    }
    text
}

/// Formats the times of messages over WebSockets.
fn socket(sockets: &SocketTimes) -> String {
    let SocketTimes { messages, systems } = sockets;
    let rounds = systems[0].1.len();
    let mut text = format!(
        "\n### socket \u{b7} {messages} messages over one WebSocket, each after the answer to the \
         one before \u{b7} {rounds} rounds\n\n| system | p50 us | added | p99 us |\n|---|--:|--:|--:|\n",
    );
    let (_, direct) = &systems[0];
    for (name, own) in systems {
        let of = |time: fn(&MessageTimes) -> f64| median(own.iter().map(time));
        let added = median(own.iter().zip(direct).map(|(own, direct)| own.p50 - direct.p50));
        let is_ours = [System::Record.name(), System::Replay.name()].contains(name);
        let (name, p50, p99) = (bold(name, is_ours), of(|one| one.p50), of(|one| one.p99));
        add(&mut text, format_args!("| {name} | {p50:.0} | {added:+.0} | {p99:.0} |\n"));
    }
    text
}

fn line(target: &Target) -> String {
    let Target { what, bound, aim, value, but, .. } = target;
    let bound = match bound {
        Bound::AtLeast(bound) => format!("at least {bound:.2}"),
        Bound::AtMost(bound) => format!("at most {bound:.2}"),
    };
    let aim = aim.map_or_else(String::new, |aim| format!(", aim {aim:.2}"));
    let measured = match value {
        None => "not measured".to_owned(),
        Some((value, least, most)) if least == most => format!("{value:.2}"),
        Some((value, least, most)) => format!("{value:.2} ({least:.2}\u{2013}{most:.2})"),
    };
    let verdict = match target.holds() {
        None => "",
        Some(true) => "holds",
        Some(false) => "**does not hold**",
    };
    let but = but.as_ref().map_or_else(String::new, |but| format!(": {but}"));
    format!("| {what} | {bound}{aim} | {measured} | {verdict}{but} |\n")
}

/// Formats one workload at one number of connections.
fn table(outcome: &Outcome) -> String {
    let Outcome { workload, connections, results } = outcome;
    let rounds = results.iter().filter_map(|(_, own)| own.as_ref().ok().map(Vec::len)).max();
    let mut text = format!(
        "\n### {} \u{b7} {} \u{b7} {connections} at a time \u{b7} {} rounds\n\n\
         | system | requests/s | ratio | p50 us | p99 us | first byte us | cpu us | \
         answer |\n|---|--:|--:|--:|--:|--:|--:|---|\n",
        workload.name,
        workload.what,
        rounds.unwrap_or(0),
    );
    for (system, result) in results {
        match result {
            Ok(samples) => text.push_str(&row(outcome, *system, samples)),
            Err(reason) => add(
                &mut text,
                format_args!("| {} | left out: {} | | | | | | |\n", shown(*system), clean(reason)),
            ),
        }
    }
    text
}

/// Formats the row of one system.
fn row(outcome: &Outcome, system: System, own: &[Sample]) -> String {
    let reference = outcome.of(outcome.workload.reference);
    let of = |time: fn(&Sample) -> Duration| median(own.iter().map(|one| micros(time(one))));
    format!(
        "| {} | {} | {} | {:.0} | {:.0} | {:.0} | {:.0} | {} |\n",
        shown(system),
        thousands(median(own.iter().map(|sample| sample.per_second))),
        ratio(median(own.iter().zip(reference).map(|(a, b)| a.per_second / b.per_second))),
        of(|sample| sample.p50),
        of(|sample| sample.p99),
        of(|sample| sample.first),
        of(|sample| sample.cost),
        answer(system, own),
    )
}

/// Describes the answers in a few words: as the bare server sends them, or what they kept.
fn answer(system: System, samples: &[Sample]) -> String {
    if system.is_exact() && samples.iter().all(|sample| sample.boundaries) {
        return "as sent".to_owned();
    }
    let fewest = samples.iter().map(|sample| sample.chunks.0).min().unwrap_or(0);
    let most = samples.iter().map(|sample| sample.chunks.1).max().unwrap_or(0);
    let chunks = match (fewest, most) {
        (1, 1) => "1 chunk".to_owned(),
        (fewest, most) if fewest == most => format!("{fewest} chunks"),
        (fewest, most) => format!("{fewest}\u{2013}{most} chunks"),
    };
    let bytes = if system.is_exact() { "exact" } else { "same words" };
    format!("{bytes}, {chunks}")
}

fn grown(results: &growth::Results) -> String {
    let mut text = "\n### growth \u{b7} distinct calls into one new recording \u{b7} 16 at a time \
                    \u{b7} microseconds per call, in some tenths of the calls\n\n\
                    | system | calls | 1 | 2 | 5 | 10 | last / second | peak MB | to end, s |\n\
                    |---|--:|--:|--:|--:|--:|--:|--:|--:|\n"
        .to_owned();
    for (system, result) in results {
        let name = shown(*system);
        let all = match result {
            Ok(all) if !all.is_empty() => all,
            Ok(_) => continue,
            Err(reason) => {
                let reason = clean(reason);
                add(&mut text, format_args!("| {name} | left out: {reason} |{}\n", " |".repeat(7)));
                continue;
            }
        };
        add(&mut text, format_args!("| {name} | {} |", all[0].calls));
        for block in SHOWN_TENTHS {
            let costs = all.iter().filter_map(|grown| grown.blocks.get(block).copied());
            let cost = median(costs.map(micros));
            match cost.is_nan() {
                true => text.push_str(" |"),
                false => add(&mut text, format_args!(" {cost:.0} |")),
            }
        }
        let peak = median(all.iter().map(|grown| grown.peak as f64));
        let closing = median(all.iter().map(|grown| grown.closing.as_secs_f64()));
        let ratio = growth::ratio(all);
        add(&mut text, format_args!(" {ratio:.2} | {} | {closing:.2} |\n", megabytes(peak)));
    }
    text
}

fn started(starts: &[Sized]) -> String {
    let mut text = "\n### start \u{b7} from the start of a process to its first right answer\n\n\
                    | entries | MB of JSON | system | ready ms | peak MB |\n\
                    |--:|--:|---|--:|--:|\n"
        .to_owned();
    for Sized { entries, bytes, results } in starts {
        let size = match bytes {
            0 => String::new(),
            bytes => megabytes(*bytes as f64),
        };
        for (name, result) in results {
            let name = bold(name, *name == System::Replay.name());
            let found: &[Started] = match result {
                Ok(found) => found,
                Err(reason) => {
                    let reason = clean(reason);
                    add(
                        &mut text,
                        format_args!("| {entries} | {size} | {name} | left out: {reason} | |\n"),
                    );
                    continue;
                }
            };
            let (ready, peak) = (start::ready(found) * 1e3, megabytes(start::peak(found)));
            add(&mut text, format_args!("| {entries} | {size} | {name} | {ready:.1} | {peak} |\n"));
        }
    }
    text
}

/// Says how busy the load generator was at the most, over the fastest systems of the workloads. If
/// it was always busy, it would be the limit itself.
fn busiest(findings: &Findings) -> String {
    let share = |outcome: &Outcome| {
        let samples = outcome.of(outcome.workload.reference);
        let share = median(samples.iter().map(|sample| sample.load_share * 100.0));
        (!samples.is_empty()).then_some((share, outcome.workload.name, outcome.connections))
    };
    let shares = findings.outcomes.iter().filter_map(share);
    let Some((share, name, connections)) = shares.max_by(|(a, ..), (b, ..)| a.total_cmp(b)) else {
        return String::new();
    };
    format!(
        "\nThe load generator's threads worked at most {share:.0} % of the time ({name}, \
         {connections} connections).\n"
    )
}

/// Lists the available peers with their versions, and the others with the reason.
pub fn versions() -> String {
    let mut lines = String::new();
    for peer in Peer::ALL {
        match peer.version() {
            Ok(version) => add(&mut lines, format_args!("{version} \u{b7} ")),
            Err(reason) => {
                add(
                    &mut lines,
                    format_args!("{} left out ({}) \u{b7} ", peer.name(), clean(&reason)),
                );
            }
        }
    }
    format!("{}\n", lines.trim_end_matches(" \u{b7} "))
}

fn shown(system: System) -> String {
    bold(system.name(), system.is_ours())
}

fn bold(name: &str, bold: bool) -> String {
    if bold { format!("**{name}**") } else { name.to_owned() }
}

/// Removes from a reason what would break a table's row, and the names of paths and hosts.
fn clean(reason: &str) -> String {
    let reason = reason.split(" / ").next().unwrap_or_default();
    let named = |word: &str| {
        let host = word.split('.').skip(1).any(|part| part.starts_with(char::is_alphabetic));
        host || word.contains('/')
    };
    let words = reason.split_whitespace().filter(|word| !named(word));
    words.collect::<Vec<_>>().join(" ").replace('|', "\u{a6}")
}

fn ratio(value: f64) -> String {
    if value < 0.1 { format!("{value:.3}") } else { format!("{value:.2}") }
}

fn thousands(value: f64) -> String {
    let text = format!("{value:.0}");
    match text.len() {
        5.. => format!("{},{}", &text[..text.len() - 3], &text[text.len() - 3..]),
        _ => text,
    }
}

fn megabytes(bytes: f64) -> String {
    format!("{:.1}", bytes / 1e6)
}

fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}

fn add(text: &mut String, what: std::fmt::Arguments) {
    // Writing to a String cannot fail.
    let _ = text.write_fmt(what);
}
