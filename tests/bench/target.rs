//! The performance targets of loomrec, as ratios within one run, and whether they are met.

use crate::conversation;
use crate::growth;
use crate::key;
use crate::load::Sample;
use crate::peer::{Peer, Task};
use crate::quantile::median;
use crate::round::Outcome;
use crate::sample::EVENTS;
use crate::socket::{self, MessageTimes};
use crate::start;
use crate::system::System;
use crate::table::Findings;
use crate::transport::Transport;
use crate::verify;
use crate::watch::Watch;

/// The bound of a target's value.
#[derive(Clone, Copy, Debug)]
pub enum Bound {
    /// At least this.
    AtLeast(f64),
    /// At most this.
    AtMost(f64),
}

/// One target.
pub struct Target {
    /// Its workload. The target is not shown if the workload was not selected.
    pub workload: &'static str,
    /// What is compared.
    pub what: String,
    /// The required bound.
    pub bound: Bound,
    /// A more ambitious value beyond the bound.
    pub aim: Option<f64>,
    /// The measured value, with the least and the greatest of the rounds. `None` if it was not
    /// measured.
    pub value: Option<(f64, f64, f64)>,
    /// Another reason why the target is not met, even if the value is within the bound.
    pub but: Option<String>,
}

impl Target {
    /// Whether the target is met. `None` if it was not measured.
    pub fn holds(&self) -> Option<bool> {
        let (value, ..) = self.value?;
        let within = match self.bound {
            Bound::AtLeast(bound) => value >= bound,
            Bound::AtMost(bound) => value <= bound,
        };
        Some(within && self.but.is_none())
    }
}

/// Returns every target, in the order of the workloads.
pub fn all(findings: &Findings) -> Vec<Target> {
    let mut targets = replays(findings);
    targets.extend(records(findings));
    targets.extend(watched(findings));
    targets.extend(reached(findings));
    targets.extend(earlier(findings));
    targets.extend(growing(findings));
    targets.extend(starting(findings));
    targets.push(hashing(findings));
    targets.extend(verifying(findings));
    targets.extend(comparing(findings));
    targets.extend(passing(findings));
    targets
}

/// Returns the target for a message over a WebSocket that is recorded.
fn passing(findings: &Findings) -> Option<Target> {
    let [(_, direct), (_, pass), (_, record), _] = &findings.sockets.as_ref()?.systems;
    let added = |own: &[MessageTimes]| {
        median(own.iter().zip(direct).map(|(own, direct)| own.p50 - direct.p50))
    };
    let value = added(record) / added(pass);
    Some(Target {
        workload: socket::NAME,
        what: "socket: p50 added over direct, against the pass-through's".to_owned(),
        bound: Bound::AtMost(2.0),
        aim: None,
        value: value.is_finite().then_some((value, value, value)),
        but: None,
    })
}

/// Returns the target for comparing two runs of a long conversation: absolute.
fn comparing(findings: &Findings) -> Option<Target> {
    let compared = findings.compared.as_ref()?;
    let slower = compared.changed.iter().zip(&compared.parted);
    let seconds: Vec<f64> = slower.map(|(one, other)| one.max(*other)).collect();
    Some(Target {
        workload: conversation::NAME,
        what: format!("conversation: seconds of a `diff` of {} turns", compared.turns),
        bound: Bound::AtMost(2.0),
        aim: None,
        value: Some(spread(&seconds)),
        but: None,
    })
}

/// Returns the target for verifying a recording: absolute, and relative to Python's JSON reader.
fn verifying(findings: &Findings) -> Option<Target> {
    let verified = findings.verified.as_ref()?;
    let ratios: Vec<f64> =
        verified.ours.iter().zip(&verified.python).map(|(ours, python)| ours / python).collect();
    let seconds = median(verified.ours.iter().copied());
    let slow = || format!("{seconds:.2} s for {} calls", verified.entries);
    Some(Target {
        workload: verify::NAME,
        what: format!(
            "verify: time over `python3 -m json.tool`, {} calls in less than a second",
            verified.entries
        ),
        bound: Bound::AtMost(1.0),
        aim: None,
        value: (!ratios.is_empty()).then(|| spread(&ratios)),
        but: (seconds > 1.0).then(slow),
    })
}

fn replays(findings: &Findings) -> Vec<Target> {
    let ratio = |workload, what: &str, connections, bound, aim| {
        let outcome = findings.outcome(workload, connections);
        let against = outcome.map_or("", |outcome| outcome.workload.reference.name());
        Target {
            workload,
            what: format!("{workload}, {connections} connections: {what} against {against}"),
            bound: Bound::AtLeast(bound),
            aim: Some(aim),
            value: outcome.and_then(|outcome| throughput(outcome, System::Replay)),
            but: None,
        }
    };
    let mut streamed = ratio("W1s", "streams/s", 4, 0.6, 0.9);
    let samples = findings.outcome("W1s", 4).map_or(&[][..], |one| one.of(System::Replay));
    let kept = |sample: &Sample| sample.boundaries && sample.chunks == (EVENTS, EVENTS);
    if !samples.iter().all(kept) {
        streamed.but = Some("chunk boundaries are lost".to_owned());
    }
    vec![
        ratio("W1", "calls/s", 16, 0.70, 0.87),
        ratio("W1k", "calls/s", 16, 0.70, 0.87),
        bound(findings),
        ratio("W1once", "calls/s", 16, 0.70, 0.87),
        streamed,
    ]
}

/// Returns the target for calls that are bound.
fn bound(findings: &Findings) -> Target {
    let bound = System::Elsewhere(Task::Replay);
    let outcome = findings.outcome("W1b", 16);
    Target {
        workload: "W1b",
        what: "W1b, 16 connections: calls/s of bound calls against exact ones".to_owned(),
        bound: Bound::AtLeast(0.6),
        aim: None,
        value: outcome.and_then(|outcome| throughput(outcome, bound)),
        but: None,
    }
}

fn records(findings: &Findings) -> Vec<Target> {
    let wide = findings.outcome("W2", 16);
    let one = findings.outcome("W2", 1);
    let slow = findings.outcome("slow", 1);
    vec![
        Target {
            workload: "W2",
            what: "W2, 16 connections: calls/s against the pass-through".to_owned(),
            bound: Bound::AtLeast(0.8),
            aim: Some(1.0),
            value: wide.and_then(|outcome| throughput(outcome, System::Record)),
            but: None,
        },
        Target {
            workload: "W2",
            what: "W2, 1 connection: p50 added over direct, against the pass-through's".to_owned(),
            bound: Bound::AtMost(2.0),
            aim: None,
            value: one.and_then(|outcome| added(outcome, |sample| sample.p50.as_secs_f64())),
            but: None,
        },
        Target {
            workload: "slow",
            what: "slow: time to first byte added over direct, against the pass-through's"
                .to_owned(),
            bound: Bound::AtMost(1.5),
            aim: None,
            value: slow.and_then(|outcome| added(outcome, |sample| sample.first.as_secs_f64())),
            but: None,
        },
    ]
}

/// Returns the targets for calls per second with a journal and a scraper.
fn watched(findings: &Findings) -> Vec<Target> {
    let mut targets = Vec::new();
    for (workload, task) in [("seen", Task::Replay), ("seenrec", Task::Record)] {
        let outcome = findings.outcome(workload, 16);
        let both = System::Watched(Watch::Both, task);
        let before = System::Earlier(task);
        let mut target = |what: &str, value| {
            let what = format!("{workload}: calls/s with journal and scraper, against {what}");
            let (bound, aim, but) = (Bound::AtLeast(0.95), None, None);
            targets.push(Target { workload, what, bound, aim, value, but });
        };
        target("nobody watching", outcome.and_then(|outcome| throughput(outcome, both)));
        if let Some(outcome) = outcome.filter(|outcome| !outcome.of(before).is_empty()) {
            target("the earlier loomrec", against(outcome, both, before));
        }
    }
    targets
}

/// Returns the targets for intercepted calls per second against those of mitmdump.
fn reached(findings: &Findings) -> Vec<Target> {
    let target = |workload, task| {
        let (ours, theirs) =
            (System::Over(Transport::Tunnel, task), System::ProxyPeer(Peer::Mitmdump, task));
        let outcome = findings.outcome(workload, 16);
        Target {
            workload,
            what: format!("{workload}, 16 connections: calls/s against {}", theirs.name()),
            bound: Bound::AtLeast(10.0),
            aim: None,
            value: outcome.and_then(|outcome| against(outcome, ours, theirs)),
            but: None,
        }
    };
    vec![target("reach", Task::Replay), target("reachrec", Task::Record)]
}

/// Returns the targets for each workload's calls per second and processor time against those of the
/// earlier loomrec. The bounds of their values hold the true median with 95 %.
fn earlier(findings: &Findings) -> Vec<Target> {
    let pairs = [
        (System::Replay, System::Earlier(Task::Replay)),
        (System::Record, System::Earlier(Task::Record)),
    ];
    let mut targets = Vec::new();
    for outcome in &findings.outcomes {
        for (now, before) in pairs.iter().filter(|(_, before)| !outcome.of(*before).is_empty()) {
            let (workload, connections) = (outcome.workload.name, outcome.connections);
            let mut target = |what: &str, bound, rate: fn(&Sample) -> f64| {
                let before_name = before.name();
                let what =
                    format!("{workload}, {connections} connections: {what} against {before_name}");
                let value = ratios(outcome, *now, *before, rate).map(|all| interval(&all));
                targets.push(Target { workload, what, bound, aim: None, value, but: None });
            };
            target("calls/s", Bound::AtLeast(0.97), |sample| sample.per_second);
            target("processor time of a call", Bound::AtMost(1.03), |sample| {
                sample.cost.as_secs_f64()
            });
        }
    }
    targets
}

fn growing(findings: &Findings) -> Option<Target> {
    let results = findings.growth.as_ref()?;
    let found = results.iter().find(|(system, _)| *system == System::Record);
    let grown = found.and_then(|(_, grown)| grown.as_ref().ok()).filter(|all| !all.is_empty());
    let ratios = grown.map(|all| all.iter().map(growth::Grown::ratio).collect::<Vec<_>>());
    let calls = grown.map_or(0, |all| all[0].calls);
    Some(Target {
        workload: growth::NAME,
        what: format!("cost per recorded call: last tenth of {calls} against the second tenth"),
        bound: Bound::AtMost(1.1),
        aim: None,
        value: ratios.map(|ratios| spread(&ratios)),
        but: grown
            .filter(|all| !all.iter().all(growth::Grown::is_whole))
            .map(|_| "its time was over before the last call".to_owned()),
    })
}

fn starting(findings: &Findings) -> Vec<Target> {
    // The medium size is the one that the target names. Quick runs have a smaller one.
    let Some(sized) = findings.starts.get(1) else { return Vec::new() };
    let (base, own) = (sized.of(start::LOADER), sized.of(System::Replay.name()));
    let ratio = |of: fn(&[start::Started]) -> f64| {
        let value = of(own) / of(base);
        (!own.is_empty() && !base.is_empty()).then_some((value, value, value))
    };
    let entries = sized.entries;
    let target = |what: &str, bound, value| Target {
        workload: start::NAME,
        what: format!("{what} with {entries} entries against a bare server that loads the same"),
        bound: Bound::AtMost(bound),
        aim: None,
        value,
        but: None,
    };
    vec![
        target("time to the first answer", 1.5, ratio(start::ready)),
        target("peak memory", 2.0, ratio(start::peak)),
    ]
}

fn hashing(findings: &Findings) -> Target {
    let least = findings.keys.iter().map(|speed| speed.megabytes).reduce(f64::min);
    Target {
        workload: key::NAME,
        what: "canonical text and hash, the slowest sort of body, MB/s".to_owned(),
        bound: Bound::AtLeast(400.0),
        aim: None,
        value: least.map(|least| (least, least, least)),
        but: None,
    }
}

/// Returns the requests per second divided by the reference's, round by round.
fn throughput(outcome: &Outcome, system: System) -> Option<(f64, f64, f64)> {
    against(outcome, system, outcome.workload.reference)
}

/// Returns the requests per second divided by those of another system.
fn against(outcome: &Outcome, system: System, other: System) -> Option<(f64, f64, f64)> {
    ratios(outcome, system, other, |sample| sample.per_second).map(|all| spread(&all))
}

/// Returns a rate of each round divided by that of another system.
fn ratios(
    outcome: &Outcome,
    system: System,
    other: System,
    rate: fn(&Sample) -> f64,
) -> Option<Vec<f64>> {
    let (own, base) = (outcome.of(system), outcome.of(other));
    let all: Vec<f64> = own.iter().zip(base).map(|(own, base)| rate(own) / rate(base)).collect();
    (!all.is_empty()).then_some(all)
}

/// Returns the time that recording adds to a direct call, divided by the time that the pass-through
/// adds. Both are small differences of larger times, so the medians are taken first, and the ratio
/// last.
fn added(outcome: &Outcome, time: fn(&Sample) -> f64) -> Option<(f64, f64, f64)> {
    let direct = outcome.of(System::Hyper);
    let over = |system| {
        let samples = outcome.of(system).iter().zip(direct);
        median(samples.map(|(sample, direct)| time(sample) - time(direct)))
    };
    let value = over(System::Record) / over(System::PassThrough);
    value.is_finite().then_some((value, value, value))
}

/// Returns the median, and the bounds of its confidence interval of 95 %: the number of values below
/// the true median has a binomial distribution.
fn interval(values: &[f64]) -> (f64, f64, f64) {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (count, half) = (sorted.len() as f64, 0.98 * (sorted.len() as f64).sqrt());
    let below = (count / 2.0 - half).floor().max(0.0) as usize;
    let above = ((count / 2.0 + half).ceil() as usize).min(sorted.len() - 1);
    (median(values.iter().copied()), sorted[below], sorted[above])
}

/// Returns the median, the least and the greatest value.
fn spread(values: &[f64]) -> (f64, f64, f64) {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    (median(values.iter().copied()), least, most)
}
