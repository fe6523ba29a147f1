//! A fault of one call, for the books: the journal, the counts, the answer's headers.

use std::sync::Arc;

use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Value, json};

use super::super::Gateway;
use super::claim::Claim;
use super::late::Late;
use super::watch::{self, Line};
use crate::fault::Decided;

/// Names the fault that an answer carries.
const FAULT: HeaderName = HeaderName::from_static("x-loomrec-fault");
/// Names the rule that it came by.
const RULE: HeaderName = HeaderName::from_static("x-loomrec-fault-rule");

/// A fault of one call, for the books.
pub(super) struct Mark {
    pub(super) decided: Decided,
    pub(super) line: Line,
    /// What the journal says of it.
    pub(super) facts: Arc<Value>,
    /// The take behind it.
    pub(super) claim: Option<Claim>,
    /// What its answer is behind, where it is only late.
    pub(super) late: Option<Late>,
    gateway: Arc<Gateway>,
    pub(super) id: u64,
    connection: u64,
    fired: bool,
}

impl Mark {
    /// A fault that was decided for a call of `line` on this connection.
    pub(super) fn new(
        gateway: &Arc<Gateway>,
        decided: Decided,
        line: Line,
        step: Option<&str>,
        connection: u64,
    ) -> Self {
        let (gateway, id) = (Arc::clone(gateway), gateway.faults.watch.number());
        let facts = Arc::new(facts(id, &decided, &line, step));
        Self {
            decided,
            line,
            facts,
            claim: None,
            late: None,
            gateway,
            id,
            connection,
            fired: false,
        }
    }

    /// It has happened.
    pub(super) fn fired(&mut self) {
        if !std::mem::replace(&mut self.fired, true) {
            self.gateway.faults.decider.fired(&self.decided);
            let which = (self.id, self.connection);
            watch::fired(&self.gateway, &self.line, which, &self.facts);
        }
    }

    /// It could not happen.
    pub(super) fn missed(&self, why: &str) {
        let Decided { rule, fault, .. } = &self.decided;
        self.gateway.faults.warn(format!("{} ({rule}) did not happen: {why}", fault.name()));
    }

    /// The headers that tell of it.
    pub(super) fn label(&self, headers: &mut HeaderMap) {
        headers.insert(FAULT, HeaderValue::from_static(self.decided.fault.name()));
        if let Ok(rule) = HeaderValue::from_str(&self.decided.rule) {
            headers.insert(RULE, rule);
        }
    }
}

/// The hash in the key that calls are told apart by.
pub(super) fn hash_of(key: &str) -> &str {
    key.split_once(' ').map_or(key, |(hash, _)| hash)
}

/// What a journal's line says of a fault.
pub(super) fn facts(id: u64, decided: &Decided, line: &Line, step: Option<&str>) -> Value {
    let Decided { rule, source, call, attempt, fault, .. } = decided;
    json!({
        "id": id,
        "type": fault.name(),
        "rule": &**rule,
        "source": source.word(),
        "key": hash_of(&line.1),
        "session": line.0,
        "step_id": step,
        "call": call,
        "attempt": attempt,
        "only_delays": fault.only_delays(),
    })
}
