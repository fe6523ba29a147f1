//! A fault that applies to one call, as the journal, the counters and the headers of the answer
//! report it.

use std::sync::Arc;

use http::{HeaderMap, HeaderName, HeaderValue};

use super::super::Proxy;
use super::open_faults::TrackedCall;
use super::recovery_tracker;
use loomrec_fault::{CallFault, CallKey, DecidedFault, Fault};
use loomrec_telemetry::log;

/// The header of an answer that names its fault.
const FAULT: HeaderName = HeaderName::from_static("x-loomrec-fault");
/// The header that names the rule which declared the fault.
const RULE: HeaderName = HeaderName::from_static("x-loomrec-fault-rule");

/// A fault that applies to one call.
pub(super) struct ActiveFault {
    pub(super) decided: DecidedFault,
    /// The fault as it is reported.
    pub(super) reported: Arc<CallFault>,
    /// The call that gets it.
    pub(super) call: TrackedCall,
    proxy: Arc<Proxy>,
    /// Where the rate of a chaos fault was declared. `None` for other faults.
    pub(super) chaos: Option<ChaosAction>,
    /// Whether its entry has it in place of an answer.
    pub(super) is_alone: bool,
    connection: u64,
    has_fired: bool,
}

/// An action of chaos, for the metrics.
#[derive(Clone, Copy, Debug)]
pub(super) struct ChaosAction {
    /// Where the rate was declared: `header`, `entry`, `control` or `plan`.
    pub(super) source: &'static str,
    /// What would have answered the call, in aimock's words: `fixture`, `proxy` or `internal`.
    pub(super) front: &'static str,
}

/// Why a fault could not be applied to an answer.
pub(super) enum NotApplied {
    NoBody,
    OtherKind,
    TooShort,
    EndedBefore,
    NoLength,
    /// aimock lets a stream of an upstream pass.
    LiveStream,
    /// The rewriting of the answer gave this reason.
    Inapplicable(String),
}

impl NotApplied {
    /// Returns why a fault has nothing to do to an answer.
    pub(super) fn no_transform(fault: &Fault) -> &'static Self {
        match fault {
            Fault::Malformed { .. } => &Self::LiveStream,
            _ => &Self::OtherKind,
        }
    }

    fn text(&self) -> &str {
        match self {
            Self::NoBody => "its answer has no body",
            Self::OtherKind => "it can do nothing to an answer of this kind",
            Self::TooShort => "its answer ends before the place where it was to happen",
            Self::EndedBefore => "its answer ended before the place where it was to happen",
            Self::NoLength => "the length of a live stream is not known before its end",
            Self::LiveStream => "under aimock's name it lets a live stream pass",
            Self::Inapplicable(why) => why,
        }
    }

    /// The label for it in the metrics.
    fn as_str(&self) -> &'static str {
        match self {
            Self::NoBody => "no_body",
            Self::OtherKind => "other_kind",
            Self::TooShort | Self::EndedBefore => "too_short",
            Self::NoLength => "no_length",
            // aimock's word.
            Self::LiveStream => "sse_streamed",
            Self::Inapplicable(_) => "inapplicable",
        }
    }
}

impl ActiveFault {
    /// Creates a fault that was decided for a call on this connection.
    pub(super) fn new(
        proxy: &Arc<Proxy>,
        decided: DecidedFault,
        call: TrackedCall,
        connection: u64,
    ) -> Self {
        let proxy = Arc::clone(proxy);
        let reported = CallFault::new(proxy.faults.watch.number(), &decided, call.key.clone());
        let reported = Arc::new(reported);
        Self {
            decided,
            reported,
            call,
            proxy,
            chaos: None,
            is_alone: false,
            connection,
            has_fired: false,
        }
    }

    /// Returns the key of the call.
    pub(super) fn key(&self) -> &CallKey {
        &self.reported.key
    }

    /// Notes that the fault has happened.
    pub(super) fn fired(&mut self) {
        if !std::mem::replace(&mut self.has_fired, true) {
            self.proxy.faults.decider.fired(&self.decided);
            recovery_tracker::note_fault(&self.proxy, self.connection, &self.reported, &self.call);
            let DecidedFault { fault, rule, source, .. } = &self.decided;
            self.proxy.telemetry.metrics.fault(fault.name(), source.as_str());
            if let Some(chaos) = self.chaos {
                self.proxy.telemetry.metrics.chaos(rule, chaos.source, chaos.front);
            }
            log::fault(fault.name(), source.as_str());
        }
    }

    /// Notes that the fault could not happen.
    pub(super) fn not_applied(&self, why: &NotApplied) {
        let DecidedFault { rule, fault, .. } = &self.decided;
        let text = why.text();
        self.proxy.faults.warn(format!("{} ({rule}) did not happen: {text}", fault.name()));
        if let Some(chaos) = self.chaos {
            self.proxy.telemetry.metrics.bypass(rule, chaos.source, chaos.front, why.as_str());
        }
    }

    /// Adds the headers that name the fault.
    pub(super) fn label(&self, headers: &mut HeaderMap) {
        headers.insert(FAULT, HeaderValue::from_static(self.decided.fault.name()));
        if let Ok(rule) = HeaderValue::from_str(&self.decided.rule) {
            headers.insert(RULE, rule);
        }
    }
}
