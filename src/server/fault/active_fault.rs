//! A fault that applies to one call, as the journal, the counters and the answer's headers
//! report it.

use std::sync::Arc;

use http::{HeaderMap, HeaderName, HeaderValue};
use serde_json::{Value, json};

use super::super::Proxy;
use super::delayed_call::DelayedCall;
use super::recovery_tracker::{self, SessionKey};
use super::take_lease::TakeLease;
use crate::fault::DecidedFault;
use crate::telemetry::log;

/// Names the fault that an answer carries.
const FAULT: HeaderName = HeaderName::from_static("x-loomrec-fault");
/// Names the rule that it came by.
const RULE: HeaderName = HeaderName::from_static("x-loomrec-fault-rule");

/// A fault of one call, for the books.
pub(super) struct ActiveFault {
    pub(super) decided: DecidedFault,
    pub(super) line: SessionKey,
    /// What the journal says of it.
    pub(super) facts: Arc<Value>,
    /// The take behind it.
    pub(super) claim: Option<TakeLease>,
    /// What its answer is behind, where it is only late.
    pub(super) late: Option<DelayedCall>,
    proxy: Arc<Proxy>,
    /// Where chance was declared that it comes by.
    pub(super) chaos: Option<ChaosAction>,
    pub(super) id: u64,
    connection: u64,
    fired: bool,
}

/// An action of chaos, for the metrics.
#[derive(Clone, Copy, Debug)]
pub(super) struct ChaosAction {
    /// Where its rate was declared: `header`, `entry` or `plan`.
    pub(super) source: &'static str,
    /// What it stands in front of, in aimock's words: `fixture`, `proxy` or `internal`.
    pub(super) front: &'static str,
}

/// Why a fault could not happen to an answer.
pub(super) enum NotApplied {
    NoBody,
    OtherKind,
    TooShort,
    EndedBefore,
    NoLength,
    /// For what its rewriting says.
    Inapplicable(String),
}

impl NotApplied {
    fn text(&self) -> &str {
        match self {
            Self::NoBody => "its answer has no body",
            Self::OtherKind => "it can do nothing to an answer of this kind",
            Self::TooShort => "its answer ends before the place where it was to happen",
            Self::EndedBefore => "its answer ended before the place where it was to happen",
            Self::NoLength => "the length of a live stream is not known before its end",
            Self::Inapplicable(why) => why,
        }
    }

    /// The word for it in the metrics.
    fn as_str(&self) -> &'static str {
        match self {
            Self::NoBody => "no_body",
            Self::OtherKind => "other_kind",
            Self::TooShort | Self::EndedBefore => "too_short",
            Self::NoLength => "no_length",
            Self::Inapplicable(_) => "inapplicable",
        }
    }
}

impl ActiveFault {
    /// A fault that was decided for a call of `line` on this connection.
    pub(super) fn new(
        proxy: &Arc<Proxy>,
        decided: DecidedFault,
        line: SessionKey,
        step: Option<&str>,
        connection: u64,
    ) -> Self {
        let (proxy, id) = (Arc::clone(proxy), proxy.faults.watch.number());
        let facts = Arc::new(facts(id, &decided, &line, step));
        Self {
            decided,
            line,
            facts,
            claim: None,
            late: None,
            chaos: None,
            proxy,
            id,
            connection,
            fired: false,
        }
    }

    /// It has happened.
    pub(super) fn fired(&mut self) {
        if !std::mem::replace(&mut self.fired, true) {
            self.proxy.faults.decider.fired(&self.decided);
            let which = (self.id, self.connection);
            recovery_tracker::fired(&self.proxy, &self.line, which, &self.facts);
            let DecidedFault { fault, rule, source, .. } = &self.decided;
            self.proxy.telemetry.metrics.fault(fault.name(), source.as_str());
            if let Some(chaos) = self.chaos {
                self.proxy.telemetry.metrics.chaos(rule, chaos.source, chaos.front);
            }
            log::fault(fault.name(), source.as_str());
        }
    }

    /// It could not happen.
    pub(super) fn missed(&self, why: &NotApplied) {
        let DecidedFault { rule, fault, .. } = &self.decided;
        let text = why.text();
        self.proxy.faults.warn(format!("{} ({rule}) did not happen: {text}", fault.name()));
        if let Some(chaos) = self.chaos {
            self.proxy.telemetry.metrics.bypass(rule, chaos.source, chaos.front, why.as_str());
        }
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
pub(super) fn facts(
    id: u64,
    decided: &DecidedFault,
    line: &SessionKey,
    step: Option<&str>,
) -> Value {
    let DecidedFault { rule, source, call, attempt, fault, .. } = decided;
    json!({
        "id": id,
        "type": fault.name(),
        "rule": &**rule,
        "source": source.as_str(),
        "key": hash_of(&line.1),
        "session": line.0,
        "step_id": step,
        "call": call,
        "attempt": attempt,
        "only_delays": fault.only_delays(),
    })
}
