//! The receipt: what a run did, as text for people and as JSON.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::{Value, json};

use super::amount::{dollars, rounded};
use super::args::FaultArgs;
use super::expiry::ExpiredTakes;
use super::fault::{self, FaultReceipt};
use super::in_force::InForce;
use super::score::ScoredFaults;
use super::serve_setup::UnusedTakes;
use super::terminal;
use crate::record::CallFailure;
use crate::recovery::RecoveryBudget;
use crate::replay::MissReason;
use crate::server::fault::FaultContext;
use crate::store::{self, RecordingLocation};
use crate::telemetry::run_counters::{CounterDetail, RunCounters};

/// The beginning of every receipt.
pub const BEGINNING: &[u8] = b"{\n  \"loomrec\": \"";

/// What a run did.
#[derive(Debug)]
pub struct Receipt {
    /// `record` or `replay`.
    pub command: &'static str,
    /// Calls answered from a recording.
    pub served: u64,
    /// Calls answered with the placeholder.
    pub defaulted: u64,
    /// Calls that were forwarded and not kept.
    pub forwarded: u64,
    /// Exchanges kept.
    pub recorded: u64,
    /// Whether every call failed or was refused, so that the run counts as failed.
    pub all_failed: bool,
    /// Of these, exchanges that were not kept in full.
    pub incomplete: u64,
    /// Exchanges that were not kept.
    pub unkept: u64,
    /// Calls that no upstream answered.
    pub unreachable: u64,
    /// Calls that were refused.
    pub refused: u64,
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
    /// Connections opened to upstreams.
    pub upstream_connections: u64,
    /// Tokens, cost, mismatches, models without a price.
    pub more: CounterDetail,
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
    /// Notes that may be useful even after a good run.
    pub notes: Vec<String>,
    /// What is wrong. Empty for a good run.
    pub complaints: Vec<String>,
    /// What the user can do about it.
    pub next: Vec<String>,
}

/// The receipt's part about a script.
#[derive(Clone, Debug)]
pub struct ScriptReceipt {
    /// Calls that the script answered.
    pub calls: u64,
    /// Calls for which the script had no answer.
    pub unanswered: u64,
    /// Calls of the script that no session reached.
    pub left: usize,
    /// The number of calls in the script.
    pub of: usize,
    /// Streams of the script that were sent to their end.
    pub drained: u64,
    /// Streams of the script whose client left before the end.
    pub client_left: u64,
    /// The number of its rules.
    pub rules: usize,
    /// The names of the rules that answered no call.
    pub unused_rules: Vec<String>,
    /// What of the file is not played.
    pub not_played: Vec<String>,
}

impl ScriptReceipt {
    fn to_json(&self) -> Value {
        json!({
            "written_by_hand": true,
            "rules": self.rules,
            "unused_rules": self.unused_rules,
            "not_played": self.not_played,
            "calls": self.calls,
            "unanswered": self.unanswered,
            "left": self.left,
            "streams": { "drained": self.drained, "left": self.client_left },
        })
    }

    /// Returns the parts of the line for people.
    fn text(&self) -> Vec<String> {
        let mut parts = vec![format!("{} scripted (written by hand)", self.calls)];
        if self.unanswered > 0 {
            parts.push(format!("{} unscripted", self.unanswered));
        }
        if self.of > 0 || self.rules == 0 {
            parts.push(format!("{} of {} script calls left", self.left, self.of));
        }
        if self.rules > 0 {
            parts.push(format!("{} of {} rules unused", self.unused_rules.len(), self.rules));
        }
        if self.drained + self.client_left > 0 {
            parts.push(format!(
                "script streams: {} drained, {} left by the client",
                self.drained, self.client_left
            ));
        }
        parts
    }
}

/// Formats how many of the recorded calls failed, and how.
fn failed_words(failed: &BTreeMap<CallFailure, u64>) -> String {
    let words = failed.iter().map(|(failure, calls)| match failure {
        CallFailure::Status(status) => format!(", {calls} of them answered {status}"),
        CallFailure::Cut => format!(", {calls} of them cut"),
        // These have a count of their own.
        CallFailure::Incomplete => String::new(),
    });
    words.collect()
}

fn failed_json(failed: &BTreeMap<CallFailure, u64>) -> Value {
    let members = failed.iter().map(|(failure, calls)| match failure {
        CallFailure::Status(status) => (status.to_string(), Value::from(*calls)),
        CallFailure::Cut => ("cut".to_owned(), Value::from(*calls)),
        CallFailure::Incomplete => ("incomplete".to_owned(), Value::from(*calls)),
    });
    Value::Object(members.collect())
}

impl Receipt {
    /// Creates a receipt from the counters.
    pub fn of(
        command: &'static str,
        counters: &RunCounters,
        recordings: &[RecordingLocation],
    ) -> Self {
        let hashed = |path: &RecordingLocation| (path.clone(), store::sha256(path));
        Self {
            command,
            served: RunCounters::read(&counters.served),
            defaulted: RunCounters::read(&counters.defaulted),
            forwarded: RunCounters::read(&counters.forwarded),
            recorded: RunCounters::read(&counters.recorded),
            all_failed: false,
            incomplete: RunCounters::read(&counters.incomplete),
            unkept: RunCounters::read(&counters.unkept),
            unreachable: RunCounters::read(&counters.unreachable),
            refused: RunCounters::read(&counters.refused),
            missed: counters.missed(),
            drifted: counters.missed_for(MissReason::Drifted),
            exhausted: counters.missed_for(MissReason::Exhausted),
            unused: None,
            takes: 0,
            in_force: None,
            unchecked_calls: 0,
            by_messages: RunCounters::read(&counters.by_messages),
            script: None,
            faulted: RunCounters::read(&counters.faulted),
            faults: None,
            recovery: None,
            expired: None,
            failed_faults: false,
            untested: 0,
            upstream_connections: 0,
            more: counters.more(),
            recordings: recordings.iter().map(hashed).collect(),
            pending: None,
            calls: 0,
            cmd_exit: None,
            notes: Vec::new(),
            complaints: Vec::new(),
            next: Vec::new(),
        }
    }

    /// Adds the faults of the run. A rule that never applied is a complaint, unless that is
    /// allowed: the run did not test what it was meant to test. A fault that the program did not
    /// recover from in time is a complaint too.
    pub fn add_faults(
        &mut self,
        faults: &FaultContext,
        flags: &FaultArgs,
        budget: Option<&RecoveryBudget>,
    ) {
        let before = self.complaints.len();
        self.faults = FaultReceipt::of(faults);
        let unfired = self.faults.as_ref().map(|faults| faults.unfired.as_slice());
        let unfired = unfired.unwrap_or_default();
        if !unfired.is_empty() && !flags.allow_unfired {
            self.complaints.push(format!(
                "fault rules that never applied (--allow-unfired permits that): {}",
                unfired.join(", ")
            ));
            self.untested += 1;
        }
        if let Some(budget) = budget {
            let judged = fault::recovery(faults, budget).permitting_none(flags.allow_unfired);
            if !judged.passed() {
                self.complaints.push(judged.complaint());
                self.untested += usize::from(judged.is_untested());
            }
            self.recovery = Some(judged);
        }
        self.failed_faults = self.complaints.len() > before;
    }

    /// Adds the takes that are too old: as a complaint if that fails the run, otherwise as a note.
    pub(super) fn add_expired(&mut self, expired: Option<ExpiredTakes>, fails: bool) {
        let words = expired.as_ref().and_then(ExpiredTakes::words);
        if fails { &mut self.complaints } else { &mut self.notes }.extend(words);
        self.notes.extend(expired.as_ref().and_then(ExpiredTakes::unknown));
        self.expired = expired;
    }

    /// Returns `ok`, or the word for a failed run, or for one whose faults never happened.
    pub fn verdict(&self) -> &'static str {
        match (self.complaints.is_empty(), self.cmd_exit) {
            (true, None | Some(0)) => "ok",
            (true, Some(_)) => "command failed",
            (false, None | Some(0)) if self.complaints.len() == self.untested => "not tested",
            (false, _) => "failed",
        }
    }

    /// Returns the receipt as JSON.
    pub fn to_json(&self) -> Value {
        let more = &self.more;
        json!({
            "loomrec": env!("CARGO_PKG_VERSION"),
            "command": self.command,
            "verdict": self.verdict(),
            "complaints": self.complaints,
            "notes": self.notes,
            "served": self.served,
            "defaulted": self.defaulted,
            "forwarded": self.forwarded,
            "recorded": self.recorded,
            "failed_calls": failed_json(&more.failed_calls),
            "incomplete": self.incomplete,
            "not_kept": self.unkept,
            "missed": self.missed,
            "missed_by_reason": more.missed,
            "drifted": self.drifted,
            "exhausted": self.exhausted,
            "unreachable": self.unreachable,
            "refused": self.refused,
            "takes": self.takes,
            "in_force": self.in_force.as_ref().map(|it| it.to_json(self.unchecked_calls, self.by_messages)),
            "unused": self.unused.as_ref().map_or(0, |unused| unused.count),
            "unused_entries": self.unused.as_ref().map_or(&[][..], |unused| &unused.named),
            "script": self.script.as_ref().map(ScriptReceipt::to_json),
            "faulted": self.faulted,
            "faults": self.faults.as_ref().map(FaultReceipt::to_json),
            "recovery": self.recovery.as_ref().map(ScoredFaults::to_json),
            "expired": self.expired.as_ref().map(ExpiredTakes::to_json),
            "upstream_connections": self.upstream_connections,
            "tokens": { "input": more.input_tokens, "output": more.output_tokens },
            "cost_usd": rounded(more.cost_usd),
            "unpriced_models": more.unpriced,
            "keep_errors": more.keep_errors,
            "unfolded": more.unfolded,
            "recordings": self.recordings.iter().map(|(path, sha)| json!({
                "path": path.as_path().to_string_lossy(), "sha256": sha,
            })).collect::<Vec<_>>(),
            "pending": self.pending.as_ref().map(|(path, count)| json!({
                "path": path.to_string_lossy(), "calls": count,
            })),
            "cmd_exit": self.cmd_exit,
            "mismatches": more.mismatches.iter().map(|e| e.to_json()).collect::<Vec<_>>(),
        })
    }

    /// Returns the additional lines of the receipt for people.
    fn lines(&self) -> Vec<String> {
        let unpriced = self.more.unpriced.iter().map(|(model, calls)| {
            format!(
                "no price is known for {model} (calls: {calls}): its cost is unknown; see --prices"
            )
        });
        let faults = self.faults.iter().flat_map(FaultReceipt::lines);
        let in_force = self.in_force.as_ref().and_then(InForce::text);
        let in_force = in_force.iter().filter_map(|line| line.strip_prefix("loomrec: "));
        let notes = self.notes.iter().chain(&self.complaints).chain(&self.next).cloned();
        unpriced.chain(faults).chain(in_force.map(str::to_owned)).chain(notes).collect()
    }

    /// Formats the receipt for people: one line, and one more for each note and complaint.
    pub fn text(&self) -> String {
        let more = &self.more;
        let mut parts = Vec::new();
        let mut count = |number: u64, word: &str, always: bool| {
            if always || number > 0 {
                parts.push(format!("{number} {word}"));
            }
        };
        let replays = self.unused.is_some();
        count(self.served, "served", replays);
        let recorded = format!("recorded{}", failed_words(&more.failed_calls));
        count(self.recorded, &recorded, self.command == "record");
        count(self.missed, "missed", replays);
        count(self.drifted, "drifted", false);
        count(self.exhausted, "exhausted", false);
        count(self.defaulted, "answered by default", false);
        count(self.forwarded, "forwarded", false);
        let fired = self.faults.as_ref().map_or(0, FaultReceipt::fired);
        count(fired, "faults fired", self.faults.is_some());
        count(self.incomplete, "recorded incomplete", false);
        count(self.unkept, "NOT KEPT", false);
        count(self.unreachable, "unreachable", false);
        count(self.refused, "refused", false);
        if let Some(unused) = &self.unused {
            parts.push(format!("{} of {} takes unused", unused.count, self.takes));
        }
        let unchecked = self.in_force.as_ref().map_or(0, InForce::unchecked);
        if unchecked > 0 {
            let calls = self.unchecked_calls;
            parts.push(format!("{calls} answered by {unchecked} entries that cannot be checked"));
        }
        if self.in_force.as_ref().is_some_and(|it| it.by_messages() > 0) {
            let calls = self.by_messages;
            parts.push(format!("{calls} answered by their messages alone (AgentLoom 0.4.0)"));
        }
        parts.extend(self.script.iter().flat_map(ScriptReceipt::text));
        parts.push(format!("upstream connections: {}", self.upstream_connections));
        if more.input_tokens + more.output_tokens > 0 {
            let verb = if self.recorded > 0 { "spent" } else { "saved" };
            let (input, output, cost) = (more.input_tokens, more.output_tokens, more.cost_usd);
            parts.push(format!("{input} tokens in, {output} out, {} {verb}", dollars(cost)));
        }
        for (path, sha) in &self.recordings {
            let sha = sha.as_ref().map_or("not written", |sha| &sha[..12]);
            let path = path.display().to_string();
            parts.push(format!("{} sha256 {sha}", terminal::line(&path)));
        }
        let mut text =
            format!("loomrec {}: {}: {}", self.command, self.verdict(), parts.join(" · "));
        for line in self.lines() {
            text.push_str(&format!("\n  {}", terminal::line(&line)));
        }
        if let Some(judged) = &self.recovery {
            text.push_str(&format!("\n{}", judged.text(None).trim_end()));
        }
        text
    }
}
