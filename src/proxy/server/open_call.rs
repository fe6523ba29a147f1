//! One call in progress, from its arrival until its answer is sent.
//!
//! The handler of a request opens the call, and passes it to the body of the answer. What is
//! learned of the call on the way is written into its [`CallRecord`]. [`OpenCall::conclude`] ends
//! the call, once: it decides how the sending ended, settles the fault and the take of the call,
//! and reports the record. A call that is dropped before that was abandoned by its client.

mod take_settlement;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, Response, StatusCode};

use super::connection_context::ConnectionContext;
use super::exchange_slot::ExchangeSlot;
use super::fault::{self, FaultBodyEnd, FaultSettlement};
use super::protocol_upgrade::WEBSOCKET_NOTICE;
use super::sending::Sending;
use super::served_address::{self, localize_addresses};
use super::{Proxy, UserNotice, client_header};
use loomrec_engine::record::OnRecorded;
use loomrec_engine::replay::RecordingMismatchError;
use loomrec_engine::upstream::AmbiguousFraming;
use loomrec_engine::{AnswerBody, CallOutcome, CallResult, Engine, IncomingCall, RequestSummary};
use loomrec_recording::redact::CallCredentials;
use loomrec_telemetry::call_record::{CallRecord, SendEnd, TokenCounts};
use loomrec_telemetry::run_counters::RunCounters;
use loomrec_telemetry::span::parent::ParentSpan;

/// The header in which SDKs count the retries of a call, from 0.
const RETRIES: HeaderName = HeaderName::from_static("x-stainless-retry-count");

/// When a call arrived.
#[derive(Clone, Copy)]
pub(super) struct CallArrival {
    /// For measuring durations.
    pub(super) instant: Instant,
    /// In microseconds since 1970, unique in this run.
    pub(super) micros: i64,
}

/// One call in progress.
pub(super) struct OpenCall {
    context: Arc<ConnectionContext>,
    arrived: Instant,
    record: CallRecord,
    /// The sending of the answer, once it has begun.
    sending: Option<Sending>,
    /// What is to be settled of the fault and the take.
    settlement: Option<Box<FaultSettlement>>,
    /// Receives the outcome of the recorded exchange.
    exchange: Option<Arc<ExchangeSlot>>,
    /// Whether the call is kept waiting on purpose; `None` if no call can be.
    is_held: Option<Arc<AtomicBool>>,
    /// The part of its path that names its session, if it does.
    pub(super) session_path: Option<Box<str>>,
    /// Whether it is made in the place of a turn over a WebSocket, whose connection it shares.
    pub(super) is_turn: bool,
    is_concluded: bool,
}

impl OpenCall {
    /// Opens a call.
    pub(super) fn new(
        context: &Arc<ConnectionContext>,
        arrival: CallArrival,
        request: Arc<RequestSummary>,
        headers: &HeaderMap,
        secrets: &CallCredentials,
    ) -> Box<Self> {
        let proxy = &*context.proxy;
        let is_traced = proxy.telemetry.spans.is_on();
        let parent = is_traced.then(|| ParentSpan::from_headers(headers, secrets)).flatten();
        let is_compat = proxy.telemetry.metrics.is_compat();
        let workflow = is_compat.then(|| client_header::workflow_name(headers, secrets)).flatten();
        let record = CallRecord {
            attempt: attempt_number(headers),
            workflow,
            parent: parent.map(Box::new),
            ..CallRecord::new(arrival.micros, request, proxy.engine.mode_name())
        };
        RunCounters::add_one(&proxy.telemetry.counters.open);
        context.session.iter().for_each(|session| session.call_begins());
        Box::new(Self {
            context: Arc::clone(context),
            arrived: arrival.instant,
            record,
            sending: None,
            settlement: None,
            exchange: None,
            is_held: None,
            session_path: None,
            is_turn: false,
            is_concluded: false,
        })
    }

    fn proxy(&self) -> &Arc<Proxy> {
        &self.context.proxy
    }

    /// Returns how long ago the call arrived.
    fn elapsed(&self) -> Duration {
        self.arrived.elapsed()
    }

    /// Returns the record of the call.
    pub(super) fn record_mut(&mut self) -> &mut CallRecord {
        &mut self.record
    }

    /// Returns what is to be settled of the fault and the take.
    pub(super) fn settlement_mut(&mut self) -> &mut Option<Box<FaultSettlement>> {
        &mut self.settlement
    }

    /// Records a miss that the client does not see: a fault replaces the answer, or the answer has
    /// begun.
    pub(super) fn set_hidden_miss(&mut self, error: Arc<RecordingMismatchError>) {
        (self.proxy().notify)(UserNotice::Missed(&error));
        self.record.hidden_miss = Some(error);
    }

    /// Returns the mark that says whether the call is kept waiting because its recorded client got
    /// nothing; `None` if no call can be.
    pub(super) fn expect_hold(&mut self) -> Option<Arc<AtomicBool>> {
        let replay = self.proxy().engine.replay_engine();
        let can_hold = replay.is_some_and(|replay| replay.matcher().has_undelivered());
        self.is_held = can_hold.then(Arc::default);
        self.is_held.clone()
    }

    /// Returns the callback for the outcome of a recorded exchange. The call is then reported once
    /// both its answer and its exchange are over.
    pub(super) fn expect_exchange(&mut self) -> OnRecorded {
        let slot = Arc::<ExchangeSlot>::default();
        self.exchange = Some(Arc::clone(&slot));
        let proxy = Arc::clone(self.proxy());
        OnRecorded::new(move |recorded| slot.exchange_over(&proxy, recorded))
    }

    /// Records the result of the engine for the call, and holds the response back until it is due.
    pub(super) async fn accept_result(
        &mut self,
        call: &IncomingCall,
        result: CallResult,
    ) -> Response<AnswerBody> {
        let CallResult { mut response, outcome, origin, spent, due, waited } = result.sent_to(call);
        self.record.origin = origin;
        if let Some(spent) = spent {
            let (input, output) = (spent.tokens.prompt_tokens, spent.tokens.completion_tokens);
            self.record.tokens = Some(TokenCounts { input, output });
            self.record.cost_usd = spent.cost_usd;
        }
        self.record.waited += waited;
        if let Some(due) = due {
            let before = self.elapsed();
            tokio::time::sleep_until(due).await;
            self.record.waited += self.elapsed().saturating_sub(before);
        }
        if let AnswerBody::Replay(body) = response.body_mut() {
            body.wait_for_turn().await;
        }
        self.warn_if_ambiguous(&response);
        self.set_outcome(outcome, Some(response.status()));
        if served_address::may_have_addresses(call, &response) {
            let session = self.session_path.as_deref();
            response = Box::pin(localize_addresses(&self.context, call, session, response)).await;
        }
        response
    }

    /// Records the outcome of the call at this moment, and sends a notice if it is an error of
    /// loomrec's own.
    pub(super) fn set_outcome(&mut self, outcome: CallOutcome, status: Option<StatusCode>) {
        match &outcome {
            CallOutcome::Missed(error) => (self.proxy().notify)(UserNotice::Missed(error)),
            CallOutcome::Unreachable { message } => self.notify_of_failure(message),
            CallOutcome::Unscripted { message } | CallOutcome::Refused { message, .. } => {
                (self.proxy().notify)(UserNotice::Refused(message));
            }
            CallOutcome::UpgradeRefused
                if self.proxy().telemetry.counters.is_first_refused_upgrade() =>
            {
                (self.proxy().notify)(UserNotice::Warning(WEBSOCKET_NOTICE));
            }
            CallOutcome::Placeholder => self.warn_of_miss("the default answer was given"),
            CallOutcome::Forwarded if matches!(self.proxy().engine, Engine::Replay { .. }) => {
                self.warn_of_miss("the upstream was asked");
            }
            _ => {}
        }
        self.record.head = self.elapsed();
        (self.record.outcome, self.record.status) = (outcome, status);
    }

    /// Sends a notice of an upstream's failure at its first time. SDKs retry such calls, which the
    /// receipt counts.
    fn notify_of_failure(&self, message: &str) {
        if self.proxy().telemetry.counters.is_new_upstream_failure(message) {
            (self.proxy().notify)(UserNotice::Refused(message));
        }
    }

    /// Warns of a call that no recording answers, and of what answers it. Only the first ones are
    /// shown.
    fn warn_of_miss(&self, instead: &str) {
        if !self.proxy().telemetry.counters.is_lenient_miss_shown() {
            return;
        }
        let RequestSummary { method, path, model, step, key, .. } = &*self.record.facts;
        let named = [
            model.as_ref().map(|model| format!(", model {model}")),
            step.as_ref().map(|step| format!(", step {step}")),
            key.as_ref().map(|key| format!(", hash {key}")),
        ];
        let named: String = named.into_iter().flatten().collect();
        let text = format!("no recorded answer for {method} {path}{named}: {instead}");
        (self.proxy().notify)(UserNotice::Warning(&text));
    }

    /// Warns, once for each upstream, that its answers end in a cut, and why.
    fn warn_if_ambiguous(&self, response: &Response<AnswerBody>) {
        let Some(framing) = response.extensions().get::<AmbiguousFraming>() else { return };
        let (proxy, upstream) = (self.proxy(), &self.record.facts.upstream);
        if proxy.telemetry.counters.is_first_ambiguous(upstream) {
            let text = format!(
                "upstream {upstream} sent {framing}, so the end of its answer is ambiguous: such \
                 answers are passed on, and recorded, as cut"
            );
            (proxy.notify)(UserNotice::Warning(&text));
        }
    }

    /// Notes that the answer with this head begins to be sent, with a body of this length.
    /// `recorded` returns the body's bytes if they are known in advance.
    pub(super) fn begin_sending(
        &mut self,
        head: (StatusCode, &HeaderMap),
        length: Option<u64>,
        recorded: impl FnOnce() -> Option<Bytes>,
    ) {
        self.sending = Some(Sending::begin_answer(&self.record.facts, head, length, recorded));
        if self.record.facts.streamed {
            self.proxy().telemetry.metrics.stream_begins();
        }
    }

    /// Counts a piece of the body that is sent.
    pub(super) fn count_sent(&mut self, data: &Bytes) {
        if data.is_empty() {
            return;
        }
        if self.record.first_byte.is_none() {
            self.record.first_byte = Some(self.elapsed());
        }
        self.record.bytes += data.len() as u64;
        self.record.chunks += 1;
        if let Some(sending) = &mut self.sending {
            sending.note_sent(data);
        }
    }

    /// Notes that all of the body is sent.
    pub(super) fn note_all_sent(&mut self) {
        let now = self.elapsed();
        if let Some(sending) = &mut self.sending {
            sending.total.get_or_insert(now);
        }
    }

    /// Notes that the body ends in a cut.
    pub(super) fn note_cut(&mut self) {
        self.sending.iter_mut().for_each(Sending::note_cut);
    }

    /// Ends the call, once: decides how its answer ended, settles its fault and its take, and
    /// reports it. `changed` says how the body ended, if a fault changes it.
    pub(super) fn conclude(&mut self, changed: Option<FaultBodyEnd>) {
        if std::mem::replace(&mut self.is_concluded, true) {
            return;
        }
        let elapsed = self.elapsed().max(Duration::from_nanos(1));
        self.record.total = self.sending.as_ref().and_then(|it| it.total).unwrap_or(elapsed);
        self.record.end = self.send_end(changed.is_some_and(|body| body.is_whole));
        if self.is_unanswered() {
            self.record.outcome = CallOutcome::Unanswered;
        }
        if self.sending.is_some() && self.record.facts.streamed {
            self.proxy().telemetry.metrics.stream_ends(self.record.end);
        }
        if let Some(settlement) = self.settlement.take() {
            let is_whole = self.sending.is_some() && self.record.end == SendEnd::Complete;
            let is_changed = changed.is_some_and(|body| body.is_changed);
            let body = FaultBodyEnd { is_whole, is_changed };
            if settlement.settle_call(&self.context.proxy, body) {
                self.set_outcome(CallOutcome::Faulted, None);
            }
        }
        self.settle_cut_turn();
        self.settle_unread_take();
        if let Some(fault) = &self.record.fault {
            fault::note_over(self.proxy(), fault, self.record.end);
        }
        self.report_when_over();
        self.proxy().telemetry.counters.open.fetch_sub(1, Ordering::Relaxed);
        self.context.session.iter().for_each(|session| session.call_ends());
    }

    /// Whether loomrec owes the answer: it failed, the run ended before the answer was sent, or the
    /// client left while a replay had not made it yet. A client that leaves while the upstream
    /// works, while an answer is not due, while it is held as the recorded client was, or during a
    /// fault leaves on its own account.
    fn is_unanswered(&self) -> bool {
        if std::thread::panicking() {
            return true;
        }
        let has_nothing = matches!(self.record.outcome, CallOutcome::Left);
        let is_held = self.is_held.as_ref().is_some_and(|mark| mark.load(Ordering::Relaxed));
        if !has_nothing || is_held || self.record.fault.is_some() {
            return false;
        }
        let is_made = self.record.origin.is_some() || self.context.proxy.engine.goes_upstream();
        !is_made || self.context.connection.is_ended_with_run()
    }

    /// Reports the call, or has it reported once its exchange is over.
    fn report_when_over(&mut self) {
        match self.exchange.take() {
            None => self.context.proxy.report_call(&mut self.record),
            Some(exchange) => {
                let rest = CallRecord::new(
                    self.record.at,
                    Arc::clone(&self.record.facts),
                    self.record.mode,
                );
                let record = std::mem::replace(&mut self.record, rest);
                exchange.answer_over(&self.context.proxy, record);
            }
        }
    }

    /// Returns how the sending of the answer ended. `is_whole` says whether all of a body that a
    /// fault changes was sent.
    fn send_end(&self, is_whole: bool) -> SendEnd {
        let is_ours = self.context.connection.is_cut();
        let Some(sending) = &self.sending else {
            return if is_ours { SendEnd::Aborted } else { SendEnd::ClientLeft };
        };
        let CallRecord { facts, bytes, .. } = &self.record;
        sending.send_end(is_whole || sending.is_whole(facts, *bytes), is_ours)
    }
}

impl Drop for OpenCall {
    fn drop(&mut self) {
        // The client left, or the run ended, before the answer was over.
        self.conclude(None);
    }
}

/// Returns the attempt number of a call, if its SDK sends it.
fn attempt_number(headers: &HeaderMap) -> Option<u64> {
    let retries: u32 = headers.get(RETRIES)?.to_str().ok()?.parse().ok()?;
    Some(u64::from(retries) + 1)
}
