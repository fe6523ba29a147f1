//! The receipt's part about a script.

use serde_json::{Value, json};

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
    pub(super) fn to_json(&self) -> Value {
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
    pub(super) fn summary_parts(&self) -> Vec<String> {
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
