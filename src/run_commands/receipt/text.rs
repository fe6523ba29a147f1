//! The receipt as text for people.

use std::collections::BTreeMap;

use owo_colors::OwoColorize as _;

use super::super::in_force::InForce;
use super::FaultReceipt;
use super::{BoundReceipt, Receipt, ScriptReceipt, SessionsReceipt};
use loomrec_cli::pricing::sum_words;
use loomrec_cli::terminal;
use loomrec_dialect::plain_entry::BY_MESSAGES_TOOL;
use loomrec_engine::record::CallFailure;
use loomrec_identity::NormalizeRule;
use loomrec_store::RecordingLocation;

impl Receipt {
    /// Returns the additional lines of the receipt for people, harmless on a terminal. What is wrong
    /// is red.
    fn additional_lines(&self) -> Vec<String> {
        let unpriced = self.more.unpriced.iter().map(|(model, calls)| {
            format!(
                "no price is known for {model} (calls: {calls}): its cost is unknown; see --prices"
            )
        });
        let faults = self.faults.iter().flat_map(FaultReceipt::rule_lines);
        let in_force = self.in_force.as_ref().and_then(InForce::summary_line);
        let in_force = in_force.iter().filter_map(|line| line.strip_prefix("loomrec: "));
        let unneeded = self.unneeded_rules();
        let notes = unneeded.iter().chain(&self.notes).cloned();
        let before = unpriced.chain(faults).chain(in_force.map(str::to_owned)).chain(notes);
        let plain = |line: String| terminal::printable_line(&line).into_owned();
        let complaints =
            self.complaints.iter().map(|line| terminal::printable_line(line).red().to_string());
        let next = self.next.iter().cloned().map(plain);
        before.map(plain).chain(complaints).chain(next).collect()
    }

    /// Names the rules for what clients make anew that no call needed, if calls needed others.
    fn unneeded_rules(&self) -> Option<String> {
        let BoundReceipt { calls, rules, .. } = &self.bound;
        let unneeded = rules.iter().filter(|(_, calls)| *calls == 0).map(|(rule, _)| rule.as_str());
        let unneeded: Vec<&str> = unneeded.collect();
        (*calls > 0 && !unneeded.is_empty())
            .then(|| format!("no call needed the rules {}", unneeded.join(", ")))
    }

    /// Formats a recording with its SHA-256, or says why it has none.
    fn recording_line(&self, path: &RecordingLocation, sha: Option<&str>) -> String {
        let path = path.display().to_string();
        let path = terminal::printable_line(&path);
        if let Some(upload) = &self.upload {
            return format!("{path}: segments uploaded: {}", upload.uploaded);
        }
        match sha {
            Some(sha) => format!("{path} sha256 {}", &sha[..12]),
            None if self.command == "record" && self.recorded == 0 => {
                format!("{path}: not written, because nothing was recorded")
            }
            None => format!("{path}: not there"),
        }
    }

    /// Formats the tokens of the run, and what they cost.
    fn token_words(&self) -> Option<String> {
        let (input, output) = (self.more.input_tokens, self.more.output_tokens);
        let verb = if self.recorded > 0 { "spent" } else { "saved" };
        let cost = sum_words(self.more.cost_usd, self.more.unknown_costs);
        let words = || format!("{input} tokens in, {output} out, {cost} {verb}");
        self.more.has_usage().then(words)
    }

    /// Formats the receipt for people: one line, and one more for each note and complaint.
    pub fn to_text(&self) -> String {
        let more = &self.more;
        let mut parts: Vec<String> =
            self.sessions.iter().map(SessionsReceipt::summary_part).collect();
        let mut count = |number: u64, word: &str, always: bool| {
            if always || number > 0 {
                parts.push(format!("{number} {word}"));
            }
        };
        let replays =
            self.unused.is_some() || (self.sessions.is_some() && self.command == "replay");
        let bound = bound_words(&self.bound);
        let served = format!("served{bound}{}", failed_words(&more.failed_takes));
        count(self.served, &served, replays);
        let recorded = format!("recorded{}", failed_words(&more.failed_calls));
        count(self.recorded, &recorded, self.command == "record");
        count(self.missed, "missed", replays);
        count(self.drifted, "drifted", false);
        count(self.exhausted, "exhausted", false);
        count(self.defaulted, "answered by default", false);
        count(self.forwarded, "forwarded", false);
        let fired = self.faults.as_ref().map_or(0, FaultReceipt::fired_count);
        let faults = if fired == 1 { "fault fired" } else { "faults fired" };
        count(fired, faults, self.faults.is_some());
        count(self.incomplete, "recorded incomplete", false);
        count(self.given_up, "given up by their clients", false);
        count(self.unkept, "NOT KEPT", false);
        count(self.unreachable, "unreachable", false);
        count(self.unanswered, "never answered", false);
        count(self.refused, "refused", false);
        count(self.refused_upgrades, "refused as WebSocket", false);
        if let Some(unused) = &self.unused {
            parts.push(format!("{} of {} takes unused", unused.count, self.takes));
        }
        let unchecked = self.in_force.as_ref().map_or(0, InForce::unchecked_entries);
        if unchecked > 0 {
            let calls = self.unchecked_calls;
            parts.push(format!("{calls} answered by {unchecked} entries that cannot be checked"));
        }
        if self.in_force.as_ref().is_some_and(|it| it.by_messages() > 0) {
            let calls = self.by_messages;
            parts.push(format!("{calls} answered by their messages alone ({BY_MESSAGES_TOOL})"));
        }
        parts.extend(self.script.iter().flat_map(ScriptReceipt::summary_parts));
        parts.push(format!("upstream connections: {}", self.upstream_connections));
        parts.extend(self.token_words());
        let recordings = self.recordings.iter();
        parts.extend(recordings.map(|(path, sha)| self.recording_line(path, sha.as_deref())));
        let (verdict, parts) = (self.run_verdict().to_styled(), parts.join(" · "));
        let mut text = format!("loomrec {}: {verdict}: {parts}", self.command);
        for line in self.additional_lines() {
            text.push_str(&format!("\n  {line}"));
        }
        if let Some(judged) = &self.recovery {
            text.push_str(&format!("\n{}", judged.to_text(None).trim_end()));
        }
        text
    }
}

/// Formats how many calls differ from the recorded ones, and in what.
fn bound_words(bound: &BoundReceipt) -> String {
    let mut names: Vec<&str> = bound.values.iter().map(|it| it.pair.name.as_str()).collect();
    names.dedup();
    let is_of_ids = |(rule, calls): &(String, u64)| {
        *calls > 0
            && (rule.ends_with(NormalizeRule::REFERENCE)
                || NormalizeRule::of_recording(rule).finds_ids())
    };
    let ids = bound.rules.iter().any(is_of_ids).then_some("ids");
    let names: Vec<&str> = names.into_iter().chain(ids).collect();
    let calls = match (bound.calls, names.as_slice()) {
        (0, _) | (_, []) => String::new(),
        (calls, names) => format!(", {calls} of them with this run's {}", names.join(", ")),
    };
    let any_order = NormalizeRule::tool_results_in_any_order().to_string();
    let in_other_order = bound.rules.iter().find(|(rule, calls)| *rule == any_order && *calls > 0);
    let order = in_other_order.map_or_else(String::new, |(_, calls)| {
        format!(", {calls} of them with tool results in another order")
    });
    match bound.tool_results {
        0 => calls + &order,
        1 => format!("{calls}{order}, 1 tool result not compared"),
        results => format!("{calls}{order}, {results} tool results not compared"),
    }
}

/// Formats how many of the calls failed, or had failed when they were recorded, and how.
fn failed_words(failed: &BTreeMap<CallFailure, u64>) -> String {
    let words = failed.iter().map(|(failure, calls)| match failure {
        CallFailure::Status(status) => format!(", {calls} of them answered {status}"),
        CallFailure::Cut => format!(", {calls} of them cut"),
        CallFailure::Provider => format!(", {calls} of them failed with an error of the provider"),
        CallFailure::Unfinished => format!(", {calls} of them ended without an end mark"),
        CallFailure::NotAnAnswer => format!(", {calls} of them got no answer of their operation"),
        // These have a count of their own.
        CallFailure::Incomplete => String::new(),
    });
    words.collect()
}
