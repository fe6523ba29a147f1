//! The takes of a recording, computed from all takes of its manifest.
//!
//! Under a name and in a session, the pushed takes come first. Then each run, from the oldest to
//! the newest, puts its takes before them, and replaces as many: a call that succeeded replaces
//! the first take that is left, a call that failed replaces the first take that failed. If all
//! calls of a run failed and there is a take that succeeded, they are left out. Under a step id, a
//! take replaces the first one with the same request, if there is one.

use std::collections::HashMap;

use super::manifest::{ManifestRecorder, ManifestTake, StateManifest};

/// The takes of one name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VisibleName {
    /// The name that they are stored under.
    pub name: String,
    /// The places of its takes in [`StateManifest::takes`], in order.
    pub takes: Vec<usize>,
}

/// Returns the takes of the recording: names in the order of their first takes, pushed ones first.
pub fn visible_takes(manifest: &StateManifest) -> Vec<VisibleName> {
    let runs = number_runs(&manifest.recorders);
    let mut names: Vec<(VisibleName, Vec<usize>)> = Vec::new();
    let mut known: HashMap<&str, usize> = HashMap::new();
    for (place, take) in manifest.takes.iter().enumerate() {
        let next = names.len();
        let at = *known.entry(&take.name).or_insert(next);
        if at == next {
            names.push((VisibleName { name: take.name.clone(), takes: Vec::new() }, Vec::new()));
        }
        match take.recorder {
            None => names[at].0.takes.push(place),
            Some(_) => names[at].1.push(place),
        }
    }
    let mut visible = Vec::with_capacity(names.len());
    for (mut name, recorded) in names {
        if !recorded.is_empty() {
            name.takes = merge_sessions(manifest, &runs, &name.takes, &recorded);
        }
        if !name.takes.is_empty() {
            visible.push(name);
        }
    }
    visible
}

/// Merges the recorded takes of a name into the pushed ones, session by session. Sessions keep the
/// order of their first takes.
fn merge_sessions(
    manifest: &StateManifest,
    runs: &HashMap<&str, usize>,
    pushed: &[usize],
    recorded: &[usize],
) -> Vec<usize> {
    let takes = &manifest.takes;
    let mut sessions: Vec<Option<&str>> = Vec::new();
    for &place in pushed.iter().chain(recorded) {
        let session = takes[place].session.as_deref();
        if !sessions.contains(&session) {
            sessions.push(session);
        }
    }
    let mut merged = Vec::with_capacity(pushed.len() + recorded.len());
    for session in sessions {
        let of_session = |place: &usize| takes[*place].session.as_deref() == session;
        let mut current: Vec<usize> = pushed.iter().copied().filter(of_session).collect();
        let run_of = |place: &usize| {
            let recorder = takes[*place].recorder.as_deref();
            recorder.and_then(|id| runs.get(id).copied()).unwrap_or(usize::MAX)
        };
        // Their order within a run is that of the manifest, which is by time.
        let mut rest: Vec<usize> = recorded.iter().copied().filter(of_session).collect();
        rest.sort_by_key(run_of);
        for run in rest.chunk_by(|one, other| run_of(one) == run_of(other)) {
            current = apply_run(takes, current, run);
        }
        merged.extend(current);
    }
    merged
}

/// Applies the takes of one run, in their order, to those of the runs before it.
fn apply_run(takes: &[ManifestTake], earlier: Vec<usize>, run: &[usize]) -> Vec<usize> {
    let (adding, replacing): (Vec<usize>, Vec<usize>) =
        run.iter().partition(|&&place| takes[place].adds);
    let mut current = replace_earlier(takes, earlier, &replacing);
    for place in adding {
        let is_earlier = |&other: &usize| takes[other].recorded_at <= takes[place].recorded_at;
        let at = current.iter().rposition(is_earlier).map_or(0, |at| at + 1);
        current.insert(at, place);
    }
    current
}

fn replace_earlier(takes: &[ManifestTake], earlier: Vec<usize>, new: &[usize]) -> Vec<usize> {
    let has_success = earlier.iter().any(|&place| !takes[place].failed);
    if new.is_empty() || (has_success && new.iter().all(|&place| takes[place].failed)) {
        return earlier;
    }
    let mut left = earlier;
    for &place in new {
        let take = &takes[place];
        let may_go = |other: &ManifestTake| other.failed || !take.failed;
        let same = |&other: &usize| {
            let other = &takes[other];
            take.request_hash.is_some() && may_go(other) && other.request_hash == take.request_hash
        };
        let any = |&other: &usize| may_go(&takes[other]);
        if let Some(at) = left.iter().position(same).or_else(|| left.iter().position(any)) {
            left.remove(at);
        }
    }
    new.iter().copied().chain(left).collect()
}

/// A run, as its recorders show it.
struct RunSpan<'a> {
    began: &'a str,
    last: &'a str,
    recorders: Vec<&'a str>,
}

/// Returns the number of each recorder's run, from the oldest run to the newest.
fn number_runs(recorders: &[ManifestRecorder]) -> HashMap<&str, usize> {
    let mut sorted: Vec<&ManifestRecorder> = recorders.iter().collect();
    sorted.sort_by_key(|recorder| (&recorder.started_at, &recorder.id));
    let mut runs: Vec<RunSpan<'_>> = Vec::new();
    let mut named: HashMap<&str, usize> = HashMap::new();
    // The unnamed run that began last. Recorders are in the order of their begins, so it is the
    // only one that the next recorder can overlap.
    let mut open: Option<usize> = None;
    for recorder in sorted {
        let joined = match &recorder.run {
            Some(run) => named.get(run.as_str()).copied(),
            None => open.filter(|&at| recorder.started_at.as_str() <= runs[at].last),
        };
        let at = joined.unwrap_or(runs.len());
        if joined.is_none() {
            let (began, last) = (&recorder.started_at, &recorder.last_at);
            runs.push(RunSpan { began, last, recorders: Vec::new() });
        }
        match &recorder.run {
            Some(run) => drop(named.insert(run, at)),
            None => open = Some(at),
        }
        let run = &mut runs[at];
        run.last = run.last.max(&recorder.last_at);
        run.recorders.push(&recorder.id);
    }
    runs.sort_by_key(|run| (run.began, run.recorders[0]));
    let numbered = runs.iter().enumerate();
    numbered.flat_map(|(number, run)| run.recorders.iter().map(move |&id| (id, number))).collect()
}

#[cfg(test)]
#[path = "take_order_tests.rs"]
mod tests;
