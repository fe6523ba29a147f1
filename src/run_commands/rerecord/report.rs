//! The report of a run, for people and as JSON.

use serde_json::{Value, json};

use super::collect::CollectedCalls;
use super::progress::RerecordCounts;
use loomrec_cli::pricing::{known_sum, sum_words};
use loomrec_cli::terminal;
use loomrec_store::RecordingLocation;
use loomrec_telemetry::run_counters::CounterDetail;

/// The result of a run.
pub(super) struct RerecordReport<'a> {
    pub(super) file: &'a RecordingLocation,
    pub(super) new: &'a RecordingLocation,
    /// Whether the new answers are not in FILE.new, so that `review` needs `--new` to find them.
    pub(super) is_elsewhere: bool,
    pub(super) collected: &'a CollectedCalls,
    pub(super) counts: &'a RerecordCounts,
    pub(super) more: &'a CounterDetail,
    pub(super) connections: u64,
    /// The number of calls that were not sent.
    pub(super) left: usize,
}

impl RerecordReport<'_> {
    /// Whether every call has its new answer.
    pub(super) fn is_ok(&self) -> bool {
        let has_all = self.collected.unsendable.is_empty() && self.counts.failed.is_empty();
        has_all && self.left == 0 && !self.is_unkept() && !self.is_all_stale()
    }

    /// Whether nothing was sent because no call fits the recording any more.
    fn is_all_stale(&self) -> bool {
        !self.collected.stale.is_empty()
            && self.counts.kept_count() == 0
            && self.collected.done == 0
    }

    /// Whether an answer that arrived could not be kept.
    pub(super) fn is_unkept(&self) -> bool {
        self.counts.unkept > 0 || self.more.unfolded.is_some()
    }

    /// Formats the result for people: one line, and one more for each thing to know or do.
    pub(super) fn to_text(&self) -> String {
        let (counts, more) = (self.counts, self.more);
        let verdict = if self.is_ok() { "ok" } else { "failed" };
        let mut parts = Vec::new();
        for (count, word, always) in [
            (
                counts.kept_count(),
                if counts.kept_count() == 1 { "new answer" } else { "new answers" },
                true,
            ),
            (
                counts.answer,
                if counts.answer == 1 { "says something else" } else { "say something else" },
                false,
            ),
            (
                counts.aside,
                if counts.aside == 1 {
                    "differs in something else"
                } else {
                    "differ in something else"
                },
                false,
            ),
            (counts.same, "same", false),
            (counts.new, "for new calls", false),
            (counts.retries, "retried", false),
            (counts.failed.len() as u64, "failed", false),
            (counts.unkept, "NOT KEPT", false),
            (self.left as u64, "not sent", false),
            (self.collected.unsendable_calls(), "left out", false),
            (self.collected.done as u64, "were there already", false),
        ] {
            if always || count > 0 {
                parts.push(format!("{count} {word}"));
            }
        }
        parts.push(format!("upstream connections: {}", self.connections));
        if more.has_usage() {
            let cost = sum_words(more.cost_usd, more.unknown_costs);
            parts.push(format!(
                "{} tokens in, {} out, {cost} spent",
                more.input_tokens, more.output_tokens
            ));
        }
        let mut text = format!("loomrec rerecord: {verdict}: {}", parts.join(" · "));
        for (model, calls) in &more.unpriced {
            let model = terminal::printable_line(model);
            text.push_str(&format!(
                "\n  no price is known for {model} (calls: {calls}); see --prices"
            ));
        }
        self.next()
            .iter()
            .for_each(|line| text.push_str(&format!("\n  {}", terminal::printable_line(line))));
        text
    }

    /// Returns what to do next.
    fn next(&self) -> Vec<String> {
        let new = self.new.display();
        let counts = self.counts;
        let mut lines = Vec::new();
        if counts.kept_count() > 0 && counts.same == counts.kept_count() {
            lines.push("every new answer is the same as the recorded one".to_owned());
        }
        if let Some(reason) = &self.more.unfolded {
            lines.push(format!(
                "{new} is not up to date: failed to {reason}; the missing answers are safe in \
                 {new}.log"
            ));
        }
        if self.left > 0 || !counts.failed.is_empty() {
            lines.push(
                "run the same command again to send the calls without a new answer".to_owned(),
            );
        }
        if counts.kept_count() > 0 || self.collected.done > 0 {
            let quoted = |path: &RecordingLocation| {
                terminal::printable_line(&terminal::quote_word(&path.display().to_string()))
                    .into_owned()
            };
            let elsewhere = match self.is_elsewhere {
                true => format!(" --output {}", quoted(self.new)),
                false => String::new(),
            };
            let review = format!("loomrec review {}{elsewhere}", quoted(self.file));
            lines.push(format!("the new answers wait in {new}: {review}"));
        }
        lines
    }

    /// Returns the result as JSON.
    pub(super) fn to_json(&self) -> Value {
        let (counts, more) = (self.counts, self.more);
        let failed: Vec<Value> =
            counts.failed.iter().map(|(key, why)| json!({ "key": key, "why": why })).collect();
        json!({
            "loomrec": env!("CARGO_PKG_VERSION"),
            "command": "rerecord",
            "verdict": if self.is_ok() { "ok" } else { "failed" },
            "recording": self.file.as_path().to_string_lossy(),
            "new": self.new.as_path().to_string_lossy(),
            "plan": self.collected.plan_json(),
            "kept": counts.kept_count(),
            "changed": counts.answer,
            "changed_aside": counts.aside,
            "same": counts.same,
            "new_calls": counts.new,
            "retried": counts.retries,
            "failed": failed,
            "not_kept": counts.unkept,
            "not_sent": self.left,
            "already_there": self.collected.done,
            "left_out": left_out(self.collected),
            "stale": self.collected.stale,
            "tokens": { "input": more.input_tokens, "output": more.output_tokens },
            "cost_usd": known_sum(more.cost_usd, more.unknown_costs),
            "cost_not_known": more.unknown_costs,
            "unpriced_models": more.unpriced,
            "keep_errors": more.keep_errors,
            "unfolded": more.unfolded,
            "upstream_connections": self.connections,
        })
    }
}

/// Returns the calls that cannot be sent, as JSON.
pub(super) fn left_out(collected: &CollectedCalls) -> Vec<Value> {
    let each = collected.unsendable.iter();
    each.map(|(why, keys)| json!({ "why": why.to_string(), "keys": keys })).collect()
}
