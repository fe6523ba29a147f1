//! The receipt as JSON.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::super::expiry::ExpiredTakes;
use super::super::guard;
use super::super::score::ScoredFaults;
use super::FaultReceipt;
use super::{BoundReceipt, Receipt, ScriptReceipt, SessionsReceipt, remote};
use loomrec_cli::amount::round_dollars;
use loomrec_cli::pricing::known_sum;
use loomrec_engine::record::CallFailure;
use loomrec_identity::BoundPair;
use loomrec_store::RecordingLocation;
use loomrec_telemetry::bound_counts::BoundValueCount;
use loomrec_telemetry::run_counters::{EarlierTakes, UpstreamFailure};

impl Receipt {
    /// Returns the receipt as JSON.
    pub fn to_json(&self) -> Value {
        let more = &self.more;
        let unused = self.unused.as_ref().map(|it| (it.count, &it.named[..], it.undelivered));
        let (unused, named, undelivered) = unused.unwrap_or_default();
        json!({
            "loomrec": env!("CARGO_PKG_VERSION"),
            "receipt_version": 1,
            "command": self.command,
            "verdict": self.run_verdict().as_str(),
            "complaints": self.complaints,
            "notes": self.notes,
            "served": self.served,
            "bound": self.bound_json(),
            "failed_takes": failed_json(&more.failed_takes),
            "defaulted": self.defaulted,
            "prescribed": more.prescribed,
            "forwarded": self.forwarded,
            "recorded": self.recorded,
            "failed_calls": failed_json(&more.failed_calls),
            "incomplete": self.incomplete,
            "given_up": self.given_up,
            "not_kept": self.unkept,
            "earlier_takes": earlier_json(&more.earlier_takes),
            "missed": self.missed,
            "missed_by_reason": more.missed,
            "drifted": self.drifted, "exhausted": self.exhausted,
            "unreachable": self.unreachable, "unanswered": self.unanswered,
            "refused": self.refused,
            "refused_upgrades": self.refused_upgrades,
            "escapes": guard::to_json(&self.hosts.escapes),
            "passed_hosts": guard::hosts_to_json(&self.hosts.passed),
            "refused_hosts": guard::hosts_to_json(&self.hosts.refused),
            "failed_tunnels": guard::failed_to_json(&self.hosts.failed),
            "sessions": self.sessions.as_ref().map(SessionsReceipt::to_json),
            "takes": self.takes,
            "in_force": self.in_force_json(),
            "unused": unused,
            "unused_entries": named,
            "undelivered": undelivered,
            "script": self.script.as_ref().map(ScriptReceipt::to_json),
            "faulted": self.faulted,
            "faults": self.faults.as_ref().map(FaultReceipt::to_json),
            "recovery": self.recovery.as_ref().map(ScoredFaults::to_json),
            "expired": self.expired.as_ref().map(ExpiredTakes::to_json),
            "recorded_ms": round_dollars(self.recorded_ms),
            "upstream_connections": self.upstream_connections,
            "tokens": { "input": more.input_tokens, "output": more.output_tokens },
            "cost_usd": known_sum(more.cost_usd, more.unknown_costs),
            "cost_not_known": more.unknown_costs,
            "unpriced_models": more.unpriced,
            "addresses_away": more.addresses_away,
            "upstream_failures": failures_json(&more.upstream_failures),
            "keep_errors": more.keep_errors,
            "unfolded": more.unfolded,
            "recordings": recordings_json(&self.recordings),
            "remote": self.remote_json(),
            "pending": self.pending_json(),
            "cmd_exit": self.cmd_exit,
            "mismatches": more.mismatches.iter().map(|it| it.to_json()).collect::<Value>(),
        })
    }

    fn in_force_json(&self) -> Option<Value> {
        let (calls, by_messages) = (self.unchecked_calls, self.by_messages);
        self.in_force.as_ref().map(|it| it.to_json(calls, by_messages))
    }

    fn remote_json(&self) -> Value {
        let locations = self.recordings.iter().map(|(location, _)| location);
        remote::to_json(locations, self.upload.as_ref())
    }

    fn pending_json(&self) -> Option<Value> {
        let (path, count) = self.pending.as_ref()?;
        Some(json!({ "path": path.to_string_lossy(), "calls": count }))
    }

    fn bound_json(&self) -> Value {
        let BoundReceipt { calls, values, rules, tool_results } = &self.bound;
        let value = |value: &BoundValueCount| {
            let BoundPair { name, recorded, here } = &value.pair;
            json!({
                "name": name, "recorded": recorded, "now": here,
                "calls": value.calls, "places": value.places,
            })
        };
        let rule = |(rule, calls): &(String, u64)| json!({ "rule": rule, "calls": calls });
        let values: Vec<Value> = values.iter().map(value).collect();
        json!({
            "calls": calls,
            "values": values,
            "rules": rules.iter().map(rule).collect::<Vec<_>>(),
            "tool_results": tool_results,
        })
    }
}

fn recordings_json(recordings: &[(RecordingLocation, Option<String>)]) -> Value {
    let shown = |(path, sha): &(RecordingLocation, Option<String>)| json!({ "path": path.display().to_string(), "sha256": sha });
    recordings.iter().map(shown).collect()
}

fn failures_json(failures: &BTreeMap<String, UpstreamFailure>) -> Value {
    failures.values().map(|it| json!({ "message": it.message, "calls": it.calls })).collect()
}

/// Sums up what became of the takes of earlier runs.
fn earlier_json(earlier: &BTreeMap<String, EarlierTakes>) -> Value {
    let sum = |count: fn(&EarlierTakes) -> u64| earlier.values().map(count).sum::<u64>();
    json!({ "replaced": sum(|takes| takes.replaced), "kept": sum(|takes| takes.kept) })
}

fn failed_json(failed: &BTreeMap<CallFailure, u64>) -> Value {
    let members = failed.iter().map(|(failure, calls)| match failure {
        CallFailure::Status(status) => (status.to_string(), Value::from(*calls)),
        CallFailure::Cut => ("cut".to_owned(), Value::from(*calls)),
        CallFailure::Incomplete => ("incomplete".to_owned(), Value::from(*calls)),
        CallFailure::Provider => ("failed".to_owned(), Value::from(*calls)),
        CallFailure::Unfinished => ("unfinished".to_owned(), Value::from(*calls)),
        CallFailure::NotAnAnswer => ("not_an_answer".to_owned(), Value::from(*calls)),
    });
    Value::Object(members.collect())
}
