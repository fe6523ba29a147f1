//! The receipt: what a run did, as text for people and as JSON.

mod faults;
mod json;
mod remote;
mod script;
mod sessions;
mod summary;
mod text;
mod verdict;

use std::path::PathBuf;

pub use self::faults::FaultReceipt;
pub use self::remote::UploadReceipt;
pub use self::script::ScriptReceipt;
pub use self::sessions::SessionsReceipt;
pub use self::verdict::RunVerdict;
use super::args::FaultArgs;
use super::expiry::ExpiredTakes;
use super::fault;
use super::guard;
use super::in_force::InForce;
use super::score::ScoredFaults;
use loomrec_cli::amount::format_milliseconds;
use loomrec_cli::serve_setup::UnusedTakes;
use loomrec_engine::replay::MissReason;
use loomrec_fault::recovery::RecoveryBudget;
use loomrec_proxy::guard::{EscapePolicy, GuardReport};
use loomrec_proxy::server::fault::FaultContext;
use loomrec_store::RecordingLocation;
use loomrec_telemetry::bound_counts::BoundValueCount;
use loomrec_telemetry::run_counters::{CounterDetail, RunCounters};

/// The beginning of every receipt.
pub const BEGINNING: &[u8] = b"{\n  \"loomrec\": \"";

/// What a run did.
#[derive(Debug)]
pub struct Receipt {
    /// `record` or `replay`.
    pub command: &'static str,
    /// Calls answered from a recording.
    pub served: u64,
    /// Of these, the calls that differ from the recorded ones in values and ids of the run.
    pub bound: BoundReceipt,
    /// Calls answered with the placeholder.
    pub defaulted: u64,
    /// Calls that were forwarded and not kept.
    pub forwarded: u64,
    /// Exchanges kept.
    pub recorded: u64,
    /// Whether every call failed or was refused, or one was never answered, so that the run counts
    /// as failed.
    pub all_failed: bool,
    /// Of these, exchanges that were not kept in full.
    pub incomplete: u64,
    /// Of these, exchanges whose client left before it got anything of the answer.
    pub given_up: u64,
    /// Exchanges that were not kept.
    pub unkept: u64,
    /// Calls that no upstream answered.
    pub unreachable: u64,
    /// Calls that were read and never answered.
    pub unanswered: u64,
    /// Calls that were refused.
    pub refused: u64,
    /// Requests for a WebSocket, which were refused too.
    pub refused_upgrades: u64,
    /// Calls without a recorded answer.
    pub missed: u64,
    /// Of these, drifted ones.
    pub drifted: u64,
    /// Of these, exhausted ones.
    pub exhausted: u64,
    /// Takes that no call used. `None` if nothing was replayed.
    pub unused: Option<UnusedTakes>,
    /// The number of takes.
    pub takes: usize,
    /// The settings in force for replayed calls. `None` if nothing was replayed.
    pub in_force: Option<InForce>,
    /// Calls answered by entries that cannot be checked.
    pub unchecked_calls: u64,
    /// Calls of which only the messages were compared.
    pub by_messages: u64,
    /// The calls of the script. `None` if there was no script.
    pub script: Option<ScriptReceipt>,
    /// Calls that got a fault in place of any answer.
    pub faulted: u64,
    /// The faults of the run. `None` if none were declared.
    pub faults: Option<FaultReceipt>,
    /// How the program recovered from the faults. `None` without a budget.
    pub recovery: Option<ScoredFaults>,
    /// Takes that are too old. `None` if their age was not checked.
    pub(super) expired: Option<ExpiredTakes>,
    /// Whether a fault rule never applied, or a fault was not recovered from in time.
    pub failed_faults: bool,
    /// How many complaints say that faults never happened. The program is not to blame for these.
    pub untested: usize,
    /// How long the answers of the served calls took when they were recorded, in milliseconds.
    pub recorded_ms: f64,
    /// Connections opened to upstreams.
    pub upstream_connections: u64,
    /// Tokens, cost, mismatches, models without a price.
    pub more: CounterDetail,
    /// What was uploaded to an object store. `None` if nothing is recorded into one.
    pub upload: Option<UploadReceipt>,
    /// Each recording and the SHA-256 of its file, or its files, at the end.
    pub recordings: Vec<(RecordingLocation, Option<String>)>,
    /// The file in which missed requests wait to be sent, and their number. `None` if there are
    /// none.
    pub pending: Option<(PathBuf, usize)>,
    /// How many calls arrived, however they ended, including faults of connections whose calls were
    /// never read.
    pub calls: u64,
    /// The exit code of CMD.
    pub cmd_exit: Option<u8>,
    /// The connections of CMD that came to the guard.
    pub hosts: GuardReport,
    /// The sessions of the run. `None` if it has no recording for each session.
    pub sessions: Option<SessionsReceipt>,
    /// Notes that may be useful even after a good run.
    pub notes: Vec<String>,
    /// What is wrong. Empty for a good run.
    pub complaints: Vec<String>,
    /// What the user can do about it.
    pub next: Vec<String>,
}

/// The calls that differ from the recorded ones in values and ids of the run.
#[derive(Clone, Debug, Default)]
pub struct BoundReceipt {
    /// The number of calls.
    pub calls: u64,
    /// The values that were bound.
    pub values: Vec<BoundValueCount>,
    /// Each rule for what clients make anew, with the number of calls that needed it.
    pub rules: Vec<(String, u64)>,
    /// The number of tool results that were not compared.
    pub tool_results: u64,
}

/// A recording, and the SHA-256 of its file if that can be read.
pub type HashedRecording = (RecordingLocation, Option<String>);

impl Receipt {
    /// Whether it says what no settings file may hide: what is in force, or what was uploaded.
    pub fn needs_disclosure(&self) -> bool {
        let is_in_force = self.in_force.as_ref().and_then(InForce::summary_line).is_some();
        is_in_force || self.upload.is_some()
    }

    /// Returns recordings with their hashes. Reads their files.
    pub fn hash_recordings(recordings: &[RecordingLocation]) -> Vec<HashedRecording> {
        recordings.iter().map(|path| (path.clone(), loomrec_store::file_digest(path))).collect()
    }

    /// Creates a receipt from the counters.
    pub fn from_counters(
        command: &'static str,
        counters: &RunCounters,
        recordings: &[RecordingLocation],
    ) -> Self {
        Self {
            command,
            served: RunCounters::counter_value(&counters.served),
            bound: BoundReceipt {
                calls: counters.bound.bound_calls(),
                values: counters.bound.value_counts(),
                rules: counters.bound.rule_counts(),
                tool_results: counters.bound.tool_results(),
            },
            defaulted: RunCounters::counter_value(&counters.defaulted),
            forwarded: RunCounters::counter_value(&counters.forwarded),
            recorded: RunCounters::counter_value(&counters.recorded),
            all_failed: false,
            incomplete: RunCounters::counter_value(&counters.incomplete),
            given_up: RunCounters::counter_value(&counters.given_up),
            unkept: RunCounters::counter_value(&counters.unkept),
            unreachable: RunCounters::counter_value(&counters.unreachable),
            unanswered: RunCounters::counter_value(&counters.unanswered),
            refused: RunCounters::counter_value(&counters.refused),
            refused_upgrades: RunCounters::counter_value(&counters.refused_upgrades),
            missed: counters.missed_calls(),
            drifted: counters.missed_for(MissReason::Drifted),
            exhausted: counters.missed_for(MissReason::Exhausted),
            unused: None,
            takes: 0,
            in_force: None,
            unchecked_calls: 0,
            by_messages: RunCounters::counter_value(&counters.by_messages),
            script: None,
            faulted: RunCounters::counter_value(&counters.faulted),
            faults: None,
            recovery: None,
            expired: None,
            failed_faults: false,
            untested: 0,
            recorded_ms: 0.0,
            upstream_connections: 0,
            more: counters.to_detail(),
            upload: None,
            recordings: Self::hash_recordings(recordings),
            pending: None,
            calls: 0,
            cmd_exit: None,
            hosts: GuardReport::default(),
            sessions: None,
            notes: Vec::new(),
            complaints: Vec::new(),
            next: Vec::new(),
        }
    }

    /// Adds the faults of the run. One that never happened is a complaint, wherever it was declared,
    /// unless that is allowed: the run did not test what it was meant to test. A fault that the
    /// program did not recover from in time is a complaint too.
    pub fn add_faults(
        &mut self,
        faults: &FaultContext,
        flags: &FaultArgs,
        budget: Option<&RecoveryBudget>,
    ) {
        let before = self.complaints.len();
        self.faults = FaultReceipt::from_context(faults);
        let complaint = self.faults.as_ref().and_then(FaultReceipt::unfired_complaint);
        if let Some(complaint) = complaint.filter(|_| !flags.allow_unfired) {
            self.complaints.push(complaint);
            self.untested += 1;
            self.next.extend(self.faults.as_ref().and_then(FaultReceipt::step_hint));
        }
        if let Some(budget) = budget {
            let judged = fault::judge_recovery(faults, budget).permitting_none(flags.allow_unfired);
            if !judged.has_passed() {
                self.complaints.push(judged.budget_complaint());
                self.untested += usize::from(judged.is_untested());
            }
            self.recovery = Some(judged);
        }
        self.failed_faults = self.complaints.len() > before;
        if faults.skipped_ms() > 0 {
            let skipped = format_milliseconds(faults.skipped_ms() as f64);
            self.notes.push(format!(
                "{skipped} of faults were counted and not waited for (--virtual-time)"
            ));
        }
    }

    /// Describes the calls that reached no upstream. Each failure was printed once.
    pub fn unreachable_text(&self) -> String {
        let reasons = match (self.more.upstream_failures.len(), self.unreachable) {
            (_, 1) | (0, _) => String::new(),
            (1, _) => ", all for the reason above".to_owned(),
            (several, _) => format!(", for the {several} reasons above"),
        };
        format!("calls that reached no upstream: {}{reasons}", self.unreachable)
    }

    /// Adds the requests for WebSockets: as a note, or as a complaint if no other call came and that
    /// is not allowed. `nothing` says what did not happen then.
    pub fn add_refused_upgrades(&mut self, nothing: &str, is_allowed: bool) {
        let count = self.refused_upgrades;
        if count == 0 {
            return;
        }
        if self.calls > count || is_allowed {
            return self.notes.push(format!(
                "requests for a WebSocket, which got 426 so that the program makes its calls over \
                 HTTP: {count}"
            ));
        }
        self.all_failed = true;
        self.complaints.push(format!(
            "{nothing}: the program asked for a WebSocket (requests: {count}), got 426, and made no \
             call over HTTP; switch its WebSocket transport off"
        ));
    }

    /// Adds the calls that were read and never answered: a run that hung is no good run.
    pub fn add_unanswered(&mut self) {
        self.calls += self.unanswered;
        if self.unanswered > 0 {
            self.all_failed = true;
            let text = format!("calls that got no answer from loomrec: {}", self.unanswered);
            self.complaints.push(text);
        }
    }

    /// Adds the connections of CMD that went around loomrec: as complaints if they were refused,
    /// otherwise as notes. Those to other hosts are a note, so that a provider which loomrec does not
    /// know is noticed.
    pub fn add_escapes(&mut self, report: &GuardReport, policy: EscapePolicy) {
        let list = match policy {
            EscapePolicy::Refuse => &mut self.complaints,
            EscapePolicy::Count => &mut self.notes,
        };
        list.extend(guard::explain_escapes(&report.escapes, policy));
        for (text, has_lost_calls) in guard::explain_failed(&report.failed) {
            let is_wrong = has_lost_calls && policy == EscapePolicy::Refuse;
            if is_wrong { &mut self.complaints } else { &mut self.notes }.push(text);
        }
        self.notes.extend(guard::explain_passed(&report.passed));
        self.notes.extend(guard::explain_refused(&report.refused));
        self.hosts = report.clone();
    }

    /// Adds the addresses in answers that lead around loomrec.
    pub fn add_addresses(&mut self) {
        let away = &self.more.addresses_away;
        if !away.is_empty() {
            let named: Vec<String> =
                away.iter().map(|(address, times)| format!("{address} ({times})")).collect();
            self.notes.push(format!(
                "answers name addresses that lead around loomrec: {}",
                named.join(", ")
            ));
        }
    }

    /// Adds the calls that got the answer which their protocol prescribes.
    pub fn add_prescribed(&mut self) {
        let methods = &self.more.prescribed;
        if !methods.is_empty() {
            let named: Vec<String> =
                methods.iter().map(|(method, calls)| format!("{method} ({calls})")).collect();
            self.notes.push(format!(
                "calls of MCP without a recording, which got the answer that the protocol \
                 prescribes: {}",
                named.join(", ")
            ));
        }
    }

    /// Adds what the run has uploaded. Segments that are on this machine only are a complaint.
    pub fn add_upload(&mut self, upload: UploadReceipt) {
        self.complaints.extend(upload.unsent_complaint());
        self.notes.extend(upload.merge_note());
        self.complaints.extend(upload.loss_complaint());
        self.upload = Some(upload);
    }

    /// Adds the takes that are too old: as a complaint if that fails the run, otherwise as a note.
    pub(super) fn add_expired(&mut self, expired: Option<ExpiredTakes>, fails: bool) {
        let words = expired.as_ref().and_then(ExpiredTakes::too_old_message);
        if fails { &mut self.complaints } else { &mut self.notes }.extend(words);
        self.notes.extend(expired.as_ref().and_then(ExpiredTakes::unknown_age_message));
        self.expired = expired;
    }

    /// Returns how the run ended.
    pub fn run_verdict(&self) -> RunVerdict {
        match (self.complaints.is_empty(), self.cmd_exit) {
            (true, None | Some(0)) => RunVerdict::Ok,
            (true, Some(_)) => RunVerdict::CommandFailed,
            (false, None | Some(0)) if self.complaints.len() == self.untested => {
                RunVerdict::NotTested
            }
            (false, _) => RunVerdict::Failed,
        }
    }
}
