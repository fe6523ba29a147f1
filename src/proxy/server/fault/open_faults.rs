//! The faults that have not been recovered from, and what ends them.
//!
//! Three things end a fault: a good answer to the same call, a good answer to another call that does
//! the same work, and the program's own word that it reported a clean error. Times come in as values,
//! in microseconds since 1970.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use super::tracked_call::{ToolRequests, TrackedCall};
use loomrec_fault::recovery::{RecoveryMeans, WorkIdentity};
use loomrec_fault::{CallFault, CallKey};

/// For how many open faults calls elsewhere are looked for. The oldest is forgotten first.
const MOST_WORKS: usize = 1024;

/// By how many microseconds a call elsewhere may come before the end of the call that its client
/// left: the end of a connection and the first bytes of another may be seen in any order.
const LEAVING: i64 = 1_000_000;

/// A fault that has just been noticed or recovered from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FaultProgress {
    /// The client has noticed the fault with this number: how.
    Noticed(u64, &'static str),
    /// The program has recovered from the fault with this number: by what means.
    Recovered(u64, RecoveryMeans),
}

/// A fault that has not been recovered from.
#[derive(Debug)]
struct OpenFault {
    key: CallKey,
    connection: u64,
    fired_at: i64,
    is_noticed: bool,
    /// How its call ended, if it has.
    over: Option<FaultedCallEnd>,
    work: Option<Arc<WorkIdentity>>,
    requests: Option<Arc<ToolRequests>>,
    /// What recovers from it once its client has left.
    held: Option<HeldRecovery>,
}

/// How a call with a fault ended.
#[derive(Clone, Copy, Debug)]
struct FaultedCallEnd {
    at: i64,
    has_client_left: bool,
}

/// A recovery that came before its client was seen to leave the call.
#[derive(Clone, Copy, Debug)]
enum HeldRecovery {
    /// A good answer to a call, which arrived at this time and recovers by these means.
    Answer(i64, RecoveryMeans),
    /// The program reported a clean error.
    Report,
}

/// The faults that have not been recovered from.
#[derive(Debug, Default)]
pub(super) struct OpenFaultSet {
    faults: HashMap<u64, OpenFault>,
    by_key: HashMap<CallKey, Vec<u64>>,
    /// The faults that a call elsewhere may end.
    works: VecDeque<u64>,
}

impl OpenFaultSet {
    /// Returns how many faults are open.
    pub(super) fn len(&self) -> usize {
        self.faults.len()
    }

    /// Adds a fault that has happened to a call on this connection.
    pub(super) fn add(&mut self, fault: &CallFault, connection: u64, call: &TrackedCall, at: i64) {
        let (key, work, requests) = (fault.key.clone(), call.work.clone(), call.requests.clone());
        self.by_key.entry(key.clone()).or_default().push(fault.id);
        if work.is_some() {
            if self.works.len() >= MOST_WORKS {
                self.works.pop_front();
            }
            self.works.push_back(fault.id);
        }
        let (is_noticed, over, held) = (false, None, None);
        let fired_at = at;
        let open = OpenFault { key, connection, fired_at, is_noticed, over, work, requests, held };
        self.faults.insert(fault.id, open);
    }

    /// Whether the work of a call with this key may have to be compared with that of a fault.
    pub(super) fn may_be_elsewhere(&self, key: &CallKey) -> bool {
        let mut open = self.works.iter().filter_map(|id| self.faults.get(id));
        open.any(|fault| {
            let work = fault.work.as_ref().filter(|_| fault.key != *key);
            work.is_some_and(|work| work.is_in_session(key.session()))
        })
    }

    /// Notes that a call has arrived. Its client has noticed the faults of connections, and those of
    /// calls that are over: of the same call, and of those whose work it does elsewhere.
    pub(super) fn note_arrival(&mut self, call: &TrackedCall) -> Vec<FaultProgress> {
        let mut progress = Vec::new();
        for key in [&call.key, &CallKey::Connection] {
            for id in self.by_key.get(key).into_iter().flatten() {
                let is_noticed = self.faults.get(id).is_some_and(|it| it.is_followed_by(call));
                if is_noticed {
                    mark_noticed(&mut self.faults, *id, "again", &mut progress);
                }
            }
        }
        for (id, _) in self.faults_elsewhere(call) {
            let is_over = self.faults.get(&id).is_some_and(|it| it.is_over_before(call.arrived_at));
            if is_over {
                mark_noticed(&mut self.faults, id, "elsewhere", &mut progress);
            }
        }
        progress
    }

    /// Notes that the client of a fault has noticed it.
    pub(super) fn note_noticed(&mut self, id: u64, by: &'static str) -> Vec<FaultProgress> {
        let mut progress = Vec::new();
        mark_noticed(&mut self.faults, id, by, &mut progress);
        progress
    }

    /// Notes that the client of a connection has left it.
    pub(super) fn note_left(&mut self, connection: u64) -> Vec<FaultProgress> {
        self.note_departure(|fault| fault.connection == connection)
    }

    /// Notes that a client of tools has cancelled requests: it has left them, and not its connection.
    pub(super) fn note_cancelled(&mut self, cancelled: &ToolRequests) -> Vec<FaultProgress> {
        let is_among = |requests: &Arc<ToolRequests>| requests.overlaps_with(cancelled);
        self.note_departure(|fault| fault.requests.as_ref().is_some_and(is_among))
    }

    /// Notes that the clients of the faults that `is_left` selects have left their calls.
    fn note_departure(&mut self, is_left: impl Fn(&OpenFault) -> bool) -> Vec<FaultProgress> {
        let left = self.faults.iter().filter(|(_, fault)| is_left(fault));
        let mut ids: Vec<u64> = left.map(|(id, _)| *id).collect();
        ids.sort_unstable();
        let mut progress = Vec::new();
        ids.into_iter().for_each(|id| mark_noticed(&mut self.faults, id, "left", &mut progress));
        progress
    }

    /// Notes that the call of a fault is over, and whether its client left it.
    pub(super) fn note_over(&mut self, id: u64, left: bool, at: i64) -> Vec<FaultProgress> {
        let mut progress = Vec::new();
        let Some(fault) = self.faults.get_mut(&id) else { return progress };
        fault.over = Some(FaultedCallEnd { at, has_client_left: left });
        let means = match fault.held {
            Some(HeldRecovery::Answer(arrived, means)) if left && at - arrived <= LEAVING => means,
            Some(HeldRecovery::Report) => RecoveryMeans::CleanError,
            _ => return progress,
        };
        self.end_fault(id, means, &mut progress);
        progress
    }

    /// Whether a fault is open.
    pub(super) fn is_open(&self, id: u64) -> bool {
        self.faults.contains_key(&id)
    }

    /// Removes a fault from which there is nothing to recover.
    pub(super) fn remove(&mut self, id: u64) {
        let Some(fault) = self.faults.remove(&id) else { return };
        if let Some(ids) = self.by_key.get_mut(&fault.key) {
            ids.retain(|other| *other != id);
            if ids.is_empty() {
                self.by_key.remove(&fault.key);
            }
        }
        if fault.work.is_some() {
            self.works.retain(|other| *other != id);
        }
    }

    /// Notes that a call got a good answer, whole. It ends the faults of connections that had
    /// happened when it arrived, and those of calls that were over by then: of the same call, and of
    /// those whose work it did elsewhere. A call that was under way beside the faulted one ends
    /// nothing, be it the same.
    pub(super) fn note_answer(&mut self, call: &TrackedCall) -> Vec<FaultProgress> {
        let mut progress = Vec::new();
        let means =
            [(&call.key, RecoveryMeans::SameCall), (&CallKey::Connection, RecoveryMeans::NextCall)];
        for (key, means) in means {
            for id in self.by_key.get(key).cloned().unwrap_or_default() {
                self.end_or_hold(id, call, means, &mut progress);
            }
        }
        for (id, means) in self.faults_elsewhere(call) {
            self.end_or_hold(id, call, means, &mut progress);
        }
        progress
    }

    /// Notes the program's word that it reported a clean error, in this session, and in this step if
    /// one is named. It ends the faults that the client has noticed. Returns the faults, too, whose
    /// calls are still waited for: they end once their clients leave.
    pub(super) fn note_report(
        &mut self,
        session: Option<&str>,
        step: Option<&str>,
    ) -> (Vec<FaultProgress>, Vec<u64>) {
        let is_meant = |fault: &OpenFault| {
            fault.key.session() == session && (step.is_none() || fault.key.step_id() == step)
        };
        let meant = self.faults.iter().filter(|(_, fault)| is_meant(fault));
        let mut ids: Vec<u64> = meant.map(|(id, _)| *id).collect();
        ids.sort_unstable();
        let (mut progress, mut waiting) = (Vec::new(), Vec::new());
        for id in ids {
            match self.faults.get_mut(&id) {
                Some(fault) if !fault.is_noticed && fault.over.is_none() => {
                    fault.held = Some(HeldRecovery::Report);
                    waiting.push(id);
                }
                _ => self.end_fault(id, RecoveryMeans::CleanError, &mut progress),
            }
        }
        (progress, waiting)
    }

    /// Ends a fault that this call recovers from, or holds the recovery until the faulted call is
    /// over: its client may have left before.
    fn end_or_hold(
        &mut self,
        id: u64,
        call: &TrackedCall,
        means: RecoveryMeans,
        progress: &mut Vec<FaultProgress>,
    ) {
        let Some(fault) = self.faults.get_mut(&id) else { return };
        if fault.is_followed_by(call) {
            self.end_fault(id, means, progress);
        } else if fault.over.is_none() && fault.fired_at < call.arrived_at {
            fault.held = fault.held.or(Some(HeldRecovery::Answer(call.arrived_at, means)));
        }
    }

    /// Returns the faults of other calls whose work this call does, in their order, and by what
    /// means.
    fn faults_elsewhere(&self, call: &TrackedCall) -> Vec<(u64, RecoveryMeans)> {
        let Some(done) = &call.work else { return Vec::new() };
        let done = |id: &u64| {
            let fault = self.faults.get(id).filter(|fault| fault.key != call.key)?;
            Some((*id, fault.work.as_ref()?.means_of(done)?))
        };
        self.works.iter().filter_map(done).collect()
    }

    /// Ends a fault. A client that was not seen to notice it before has noticed it by now.
    fn end_fault(&mut self, id: u64, means: RecoveryMeans, progress: &mut Vec<FaultProgress>) {
        let Some(fault) = self.faults.get(&id) else { return };
        let noticed_by = match (means, fault.over) {
            (_, Some(FaultedCallEnd { has_client_left: true, .. })) => "left",
            (RecoveryMeans::CleanError, _) => "report",
            (
                RecoveryMeans::Fallback | RecoveryMeans::OtherStep | RecoveryMeans::OtherSettings,
                _,
            ) => "elsewhere",
            (RecoveryMeans::SameCall | RecoveryMeans::NextCall, _) => "again",
        };
        mark_noticed(&mut self.faults, id, noticed_by, progress);
        self.remove(id);
        progress.push(FaultProgress::Recovered(id, means));
    }
}

impl OpenFault {
    /// Whether a call comes after the faulted one, and not beside it: it arrived when that was over,
    /// or the client has noticed the fault and keeps the call open. Any next call follows the fault
    /// of a connection.
    fn is_followed_by(&self, call: &TrackedCall) -> bool {
        let has_given_up = self.over.is_none() && self.is_noticed;
        let is_later = self.key == CallKey::Connection || has_given_up;
        self.is_over_before(call.arrived_at) || is_later && self.fired_at < call.arrived_at
    }

    /// Whether the call was over when another one arrived at this time.
    fn is_over_before(&self, arrived_at: i64) -> bool {
        let slack = |over: FaultedCallEnd| if over.has_client_left { LEAVING } else { 0 };
        self.fired_at < arrived_at
            && self.over.is_some_and(|over| over.at - slack(over) < arrived_at)
    }
}

/// Notes that the client of a fault has noticed it, unless it had before.
fn mark_noticed(
    faults: &mut HashMap<u64, OpenFault>,
    id: u64,
    by: &'static str,
    progress: &mut Vec<FaultProgress>,
) {
    let Some(fault) = faults.get_mut(&id).filter(|fault| !fault.is_noticed) else { return };
    fault.is_noticed = true;
    progress.push(FaultProgress::Noticed(id, by));
}

#[cfg(test)]
#[path = "open_faults_tests.rs"]
mod tests;
