//! The totals of a comparison.

use serde_json::{Value, json};

use super::call::{CallState, ComparedCall};
use loomrec_cli::pricing::{known_sum, sum_words};

/// Counts of calls, and the tokens and costs of both sides.
#[derive(Debug, Default)]
pub(super) struct DiffTotals {
    pub(super) same: usize,
    /// Of these, calls in which something differs that does not count.
    pub(super) near: usize,
    pub(super) changed: usize,
    /// Of these, calls whose changes earlier calls show.
    pub(super) repeated: usize,
    pub(super) only_old: usize,
    pub(super) only_new: usize,
    tokens: (u64, u64),
    cost: (f64, f64),
    /// Calls whose cost is unknown.
    unpriced: (u64, u64),
}

impl DiffTotals {
    pub(super) fn add(&mut self, call: &ComparedCall) {
        match call.state {
            CallState::Same => self.same += 1,
            CallState::Changed => self.changed += 1,
            CallState::OnlyOld => self.only_old += 1,
            CallState::OnlyNew => self.only_new += 1,
        }
        self.repeated += usize::from(call.only_repeats());
        self.near += usize::from(call.state == CallState::Same && !call.differences.is_empty());
        if let Some(old) = &call.old {
            self.tokens.0 = self.tokens.0.saturating_add(old.tokens);
            self.cost.0 += old.cost.unwrap_or(0.0);
            self.unpriced.0 += u64::from(old.cost.is_none());
        }
        if let Some(new) = &call.new {
            self.tokens.1 = self.tokens.1.saturating_add(new.tokens);
            self.cost.1 += new.cost.unwrap_or(0.0);
            self.unpriced.1 += u64::from(new.cost.is_none());
        }
    }

    /// Whether nothing that counts differs.
    pub(super) fn is_same(&self) -> bool {
        self.changed + self.only_old + self.only_new == 0
    }

    /// Formats the counts in one line.
    pub(super) fn summary_line(&self, old: &str, new: &str) -> String {
        let calls = |count: usize| if count == 1 { "1 call" } else { "calls" };
        let counted = |count: usize| match count {
            1 => calls(1).to_owned(),
            more => format!("{more} {}", calls(more)),
        };
        let mut parts = Vec::new();
        if self.changed > 0 {
            let repeated = match self.repeated {
                0 => String::new(),
                repeated => format!(" ({repeated} as calls before them)"),
            };
            parts.push(format!("{} changed{repeated}", counted(self.changed)));
        }
        if self.only_old > 0 {
            parts.push(format!("{} only in {old}", counted(self.only_old)));
        }
        if self.only_new > 0 {
            parts.push(format!("{} only in {new}", counted(self.only_new)));
        }
        let near = match self.near {
            0 => String::new(),
            near => format!(" ({near} with other times or chunks)"),
        };
        match parts.is_empty() {
            true => parts.push(format!("no difference: {} the same{near}", counted(self.same))),
            false => parts.push(format!("{} the same{near}", self.same)),
        }
        let (before, after) = self.tokens;
        if before != after {
            parts.push(format!("tokens {before} → {after}"));
        }
        let before = sum_words(self.cost.0, self.unpriced.0);
        let after = sum_words(self.cost.1, self.unpriced.1);
        if before != after {
            parts.push(format!("cost {before} → {after}"));
        }
        parts.join(" · ")
    }

    /// Returns the counts for programs.
    pub(super) fn to_json(&self) -> Value {
        json!({
            "same": self.same,
            "same_but_times": self.near,
            "changed": self.changed,
            "changed_as_before": self.repeated,
            "only_a": self.only_old,
            "only_b": self.only_new,
            "tokens": { "a": self.tokens.0, "b": self.tokens.1 },
            "cost_usd": {
                "a": known_sum(self.cost.0, self.unpriced.0),
                "b": known_sum(self.cost.1, self.unpriced.1),
            },
        })
    }
}
