//! The fault of one call, as journals, spans and receipts report it.

use std::sync::Arc;

use serde_json::{Value, json};

use super::call_key::CallKey;
use super::decided_fault::DecidedFault;
use super::fault_source::FaultSource;

/// The fault of one call or connection, as journals, spans and receipts report it.
#[derive(Clone, Debug)]
pub struct CallFault {
    /// The number of the fault in this run, from 1.
    pub id: u64,
    /// The fault's type, as in a plan.
    pub kind: &'static str,
    /// The name of the rule that declared it.
    pub rule: Arc<str>,
    /// Where the rule was declared.
    pub source: FaultSource,
    /// The key of the call.
    pub key: CallKey,
    /// Which call of its key this is, from 1.
    pub call: u64,
    /// Which attempt since the key was last answered well, from 1.
    pub attempt: u64,
    /// Whether the fault only delays the answer.
    pub only_delays: bool,
    /// The exception that the fault names.
    pub exception: Option<&'static str>,
}

impl CallFault {
    /// The fault that was decided for a call of `key`.
    pub fn new(id: u64, decided: &DecidedFault, key: CallKey) -> Self {
        let DecidedFault { fault, rule, source, call, attempt, .. } = decided;
        let (kind, only_delays, exception) =
            (fault.name(), fault.only_delays(), fault.exception_name());
        let (rule, source) = (Arc::clone(rule), *source);
        let (call, attempt) = (*call, *attempt);
        Self { id, kind, rule, source, key, call, attempt, only_delays, exception }
    }

    /// The object under `fault` in a journal record.
    pub fn to_json(&self) -> Value {
        json!({
            "id": self.id,
            "type": self.kind,
            "rule": &*self.rule,
            "source": self.source.as_str(),
            "key": self.key.request_or_name(),
            "session": self.key.session(),
            "step_id": self.key.step_id(),
            "call": self.call,
            "attempt": self.attempt,
            "only_delays": self.only_delays,
            "raise": self.exception,
        })
    }

    /// About how many bytes it takes in memory.
    pub fn memory_size(&self) -> usize {
        size_of::<Self>() + self.rule.len() + self.key.memory_size()
    }
}
