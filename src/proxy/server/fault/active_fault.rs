//! A fault that applies to one call, as the journal, the counters and the headers of the answer
//! report it.

use std::sync::Arc;

use http::{HeaderMap, HeaderName, HeaderValue};

use super::super::Proxy;
use super::super::connection_context::ConnectionContext;
use super::decision::{ChaosAction, FaultDecision};
use super::fault_outcome::{FaultOutcome, OutcomePermit};
use super::recovery_tracker;
use super::tracked_call::TrackedCall;
use loomrec_engine::IncomingCall;
use loomrec_fault::{CallFault, CallKey, DecidedFault, FAULT_HEADER, FaultObstacle};
use loomrec_telemetry::call_record::CallRecord;
use loomrec_telemetry::journaled_request::JournaledChaos;
use loomrec_telemetry::log;

/// The header of an answer that names its fault.
const FAULT: HeaderName = HeaderName::from_static(FAULT_HEADER);
/// The header that names the rule which declared the fault.
const RULE: HeaderName = HeaderName::from_static("x-loomrec-fault-rule");

/// A fault that applies to one call.
pub(super) struct ActiveFault {
    pub(super) decided: DecidedFault,
    /// The fault as it is reported.
    pub(super) reported: Arc<CallFault>,
    /// The call that gets it.
    pub(super) tracked: TrackedCall,
    /// After how many milliseconds its client gives the call up, if that is a tool's and the run is
    /// in virtual time.
    pub(super) gives_up_after: Option<u64>,
    proxy: Arc<Proxy>,
    /// Where the rate of a chaos fault was declared. `None` for other faults.
    chaos: Option<ChaosAction>,
    /// Whether its entry has it in place of an answer.
    pub(super) is_alone: bool,
    /// The workflow that the call names.
    workflow: Option<Box<str>>,
    /// Why it cannot happen to the answer, once that is known.
    pub(super) obstacle: Option<FaultObstacle>,
    /// What became of it.
    pub(super) outcome: Arc<FaultOutcome>,
    /// Held until it is known whether it happens. Meanwhile no other call of its key is decided.
    order: Option<OutcomePermit>,
    connection: u64,
}

/// The label of an obstacle in the metrics of chaos.
fn bypass_label(why: &FaultObstacle) -> &'static str {
    match why {
        FaultObstacle::NoBody | FaultObstacle::Empty => "no_body",
        FaultObstacle::NoStream | FaultObstacle::NoChecksum => "other_kind",
        FaultObstacle::TooShort { .. }
        | FaultObstacle::NoNextMessage
        | FaultObstacle::SmallChunks { .. }
        | FaultObstacle::NoTerminator
        | FaultObstacle::LargeEvent { .. }
        | FaultObstacle::ClientLeft => "too_short",
        FaultObstacle::UnknownLength | FaultObstacle::TrueLength => "no_length",
        FaultObstacle::LiveStream => "sse_streamed",
        FaultObstacle::NoAnswer
        | FaultObstacle::LargeAnswer { .. }
        | FaultObstacle::CutAnswer
        | FaultObstacle::NotApplicable(_) => "inapplicable",
    }
}

/// Returns after how many milliseconds of virtual time the client of a tool gives up a call with this
/// fault; `None` if it does not, or the call is no tool's.
fn tool_limit(proxy: &Proxy, call: &IncomingCall, decided: &DecidedFault) -> Option<u64> {
    let clock = proxy.faults.virtual_clock.as_ref()?;
    call.storable_request().call.rpc.as_ref().filter(|method| method.is_tool_call())?;
    clock.tool_limit(&decided.fault)
}

impl ActiveFault {
    /// Begins the fault that was decided for a call, and enters it in the record of the call.
    pub(super) fn begin(
        caller: &ConnectionContext,
        record: &mut CallRecord,
        FaultDecision { decided, chaos, is_alone, answers, order }: FaultDecision,
        call: &IncomingCall,
        tracked: TrackedCall,
    ) -> Self {
        let proxy = Arc::clone(&caller.proxy);
        let gives_up_after = tool_limit(&proxy, call, &decided);
        let mut reported =
            CallFault::new(proxy.faults.watch.next_fault_number(), &decided, tracked.key.clone());
        // Its client does not wait for the answer.
        reported.only_delays &= gives_up_after.is_none();
        let reported = Arc::new(reported);
        record.fault = Some(Arc::clone(&reported));
        if let (Some(chaos), Some(request)) = (chaos, &mut record.journaled) {
            request.chaos = Some(JournaledChaos { front: chaos.front, entry: answers });
        }
        Self {
            decided,
            reported,
            tracked,
            gives_up_after,
            proxy,
            chaos,
            is_alone,
            workflow: record.workflow.clone(),
            obstacle: None,
            outcome: Arc::default(),
            order,
            connection: caller.number.unique_id(),
        }
    }

    /// Returns the key of the call.
    pub(super) fn call_key(&self) -> &CallKey {
        &self.reported.key
    }

    /// Notes that the fault has happened.
    pub(super) fn note_fired(&mut self) {
        self.release_order();
        if self.outcome.note_fired() {
            self.proxy.faults.decider.count_fired(&self.decided);
            recovery_tracker::note_fault(
                &self.proxy,
                self.connection,
                &self.reported,
                &self.tracked,
            );
            let DecidedFault { fault, rule, source, .. } = &self.decided;
            let workflow = self.workflow.as_deref();
            self.proxy.telemetry.metrics.count_fault(fault.name(), source.as_str(), workflow);
            if let Some(chaos) = self.chaos {
                self.proxy.telemetry.metrics.count_chaos(rule, chaos.source, chaos.front);
            }
            log::note_fault(fault.name(), source.as_str());
        }
    }

    /// Lets the next call of the key be decided, before it is known whether the fault happens.
    pub(super) fn release_order(&mut self) {
        self.order = None;
    }

    /// Notes that the fault cannot happen to the answer. The next call of its key may get it.
    pub(super) fn note_obstacle(&mut self, why: FaultObstacle) {
        let decider = &self.proxy.faults.decider;
        self.outcome.give_back(decider, self.call_key(), &self.decided, &why);
        self.release_order();
        self.obstacle.get_or_insert(why);
    }

    /// Notes that the answer passes without the fault, for this reason.
    pub(super) fn not_applied(&mut self, why: FaultObstacle) {
        let label = bypass_label(&why);
        self.note_obstacle(why);
        if let Some(chaos) = self.chaos {
            let (rule, metrics) = (&self.decided.rule, &self.proxy.telemetry.metrics);
            metrics.count_bypass(rule, chaos.source, chaos.front, label);
        }
    }

    /// Adds the headers that name the fault.
    pub(super) fn add_fault_headers(&self, headers: &mut HeaderMap) {
        headers.insert(FAULT, HeaderValue::from_static(self.decided.fault.name()));
        if let Ok(rule) = HeaderValue::from_str(&self.decided.rule) {
            headers.insert(RULE, rule);
        }
    }
}
