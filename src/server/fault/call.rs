//! One call and its fault: decided, and applied to its answer.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{HeaderName, HeaderValue, Response, StatusCode};
use serde_json::json;

use super::super::connection_context::ConnectionContext;
use super::super::handler;
use super::super::incoming_call::{IncomingCall, track};
use super::super::parsed_request::ParsedRequest;
use super::super::respond::{self, AnyBody};
use super::super::{OnMiss, Proxy, UserNotice, script};
use super::active_fault::{ActiveFault, ChaosAction, hash_of};
use super::apply::{distorted, form, looks_inside, mark_recovered};
use super::declared::{FaultHeaders, REFUSED};
use super::delayed_call::DelayedCall;
use super::no_response::{self, AbandonedCall};
use super::recovery_tracker::{self, SessionKey};
use super::take_lease::TakeLease;
use crate::fault::{
    self, AnswerSubstitute, CallFacts, ChaosRates, DecidedFault, EntryFault, Fault,
    FaultDeclarations, FaultSource, LazyBody, SyntheticResponse,
};
use crate::recording::normalized_request::NormalizedRequest;
use crate::recording::response_header::is_replayed;
use crate::replay::{DeclaredFault, ReplayEngine, TakeMatch, UnexplainedMiss};
use crate::telemetry::call_record::OutcomeDetail;
use crate::telemetry::run_counters::RunCounters;

/// The recorded take of a call, and as what it was asked for.
struct Owed<'a> {
    replayer: &'a ReplayEngine,
    observed: &'a NormalizedRequest,
    hit: TakeMatch<'a>,
    /// Whether the take is this call's; a fault may have given it back.
    held: bool,
}

impl Owed<'_> {
    /// What the call has of the take under a fault, where that does not use it up.
    fn claim(&mut self, proxy: &Arc<Proxy>, mark: &ActiveFault) -> Option<TakeLease> {
        let decided = &mark.decided;
        if self.replayer.matcher().is_used_by(self.hit.take, decided) {
            return None;
        }
        let held = std::mem::replace(&mut self.held, false);
        Some(TakeLease::new(proxy, &mark.line, decided.attempt, &self.hit, held))
    }

    /// The take is still owed to the call's session.
    fn release(&mut self) {
        if std::mem::replace(&mut self.held, false) {
            self.replayer.release(self.hit.index(), self.observed.session.as_deref());
        }
    }
}

/// Answers a call, with the fault that it is to have.
///
/// # Errors
/// [`AbandonedCall`] where the fault leaves it without an answer.
pub(in crate::server) async fn answer(
    caller: &ConnectionContext,
    mut asked: Box<IncomingCall>,
) -> Result<Response<AnyBody>, AbandonedCall> {
    let proxy = &caller.proxy;
    let headers = match FaultHeaders::of(&asked.headers) {
        Ok(headers) => headers,
        Err(why) => return Ok(refuse(proxy, &asked, &why)),
    };
    if proxy.faults.idle && headers.is_empty() && !proxy.faults.watch.is_open() {
        return Ok(handler::answer(proxy, asked).await);
    }
    let known = Arc::clone(&asked.known);
    let observed = known.seen.storable();
    let hash = observed.key(&proxy.faults.rules);
    // Steps that make the same request are apart from each other.
    let step = observed.step.as_deref().unwrap_or_default();
    let key = format!("{} {} {step}", hash.as_str(), observed.upstream);
    let line: SessionKey = (observed.session.clone(), key);
    recovery_tracker::came(proxy, &line);
    if proxy.faults.idle && headers.is_empty() {
        // It is not counted: whether it would be must not hang on other calls' faults.
        let response = handler::answer(proxy, asked).await;
        if response.status().as_u16() < 400 {
            proxy.faults.decider.well(line.0.as_deref(), &line.1);
        }
        return Ok(mark_recovered(caller, response, line));
    }
    let (decided, found) = decide(caller, &known, &line, &headers);
    let Some(decided) = decided else {
        let response = match found {
            Some(Ok(owed)) => deliver(proxy, &asked, owed, asked.arrived).await.map_err(Some),
            Some(Err(miss)) => Err(Some(miss)),
            None => Err(None),
        };
        let response = match response {
            Ok(response) => response,
            Err(miss) => {
                let response = handler::unanswered(proxy, asked, miss).await;
                if response.status().as_u16() < 400 {
                    proxy.faults.decider.well(line.0.as_deref(), &line.1);
                }
                response
            }
        };
        return Ok(mark_recovered(caller, response, line));
    };
    let chaos = chaos(proxy, &decided, &headers, found.as_ref());
    let mut mark = ActiveFault::new(proxy, decided, line, observed.step.as_deref(), caller.number);
    mark.chaos = chaos;
    asked.fault = Some(Arc::clone(&mark.facts));
    if let Some(instead) = instead(&mark.decided.fault, &asked) {
        mark.fired();
        let missed = found.and_then(Result::err);
        return replace(caller, mark, asked, missed, instead).await;
    }
    apply_to_response(caller, mark, asked, found).await
}

/// Where the rate of an action of chaos was declared, and what stands behind it.
fn chaos(
    proxy: &Proxy,
    decided: &DecidedFault,
    headers: &FaultHeaders,
    found: Option<&Result<Owed<'_>, UnexplainedMiss>>,
) -> Option<ChaosAction> {
    if decided.source != FaultSource::Chaos {
        return None;
    }
    let take = found.and_then(|found| found.as_ref().ok()).map(|owed| owed.hit.take);
    let entry = take.and_then(|take| take.trouble()).and_then(DeclaredFault::rates);
    let says = |rates: Option<&ChaosRates>| rates.is_some_and(|rates| rates.say(&decided.rule));
    let source = match (says(headers.rates.as_ref()), says(entry)) {
        (true, _) => "header",
        (false, true) => "entry",
        (false, false) => "plan",
    };
    let live = proxy.recorder.is_some() || matches!(proxy.on_miss, OnMiss::Forward(_));
    let front = match take {
        Some(_) => "fixture",
        None if live => "proxy",
        None => "internal",
    };
    Some(ChaosAction { source, front })
}

/// A call whose headers declare what is no fault.
fn refuse(proxy: &Proxy, asked: &IncomingCall, why: &str) -> Response<AnyBody> {
    // A message may quote a part of a value, in which a part of a credential is not found.
    let why = match FaultHeaders::are_clean(&asked.headers, asked.secrets()) {
        true => &*proxy.redactor.redact_text(why, asked.secrets()),
        false => "a header that declares a fault holds a credential of the call",
    };
    RunCounters::count(&proxy.telemetry.counters.refused);
    (proxy.notify)(UserNotice::Refused(why));
    track(asked, "refused", Some(REFUSED), OutcomeDetail::value(json!({ "message": why })));
    let mut response = respond::error(asked.shape(), REFUSED, "BadFault", why);
    response.headers_mut().insert("x-should-retry", HeaderValue::from_static("false"));
    response
}

/// What goes out in place of an answer, where the fault needs none.
fn instead(fault: &Fault, asked: &IncomingCall) -> Option<AnswerSubstitute> {
    let observed = asked.known.seen.storable();
    let form = form(observed);
    fault::substitute_for(fault, asked.shape(), &form, observed.call.streamed)
}

/// The take that a call is owed, and the fault it gets: one after the other for all
/// calls, so that what a key's nth call gets is the same in every run. A fault that is
/// no mere delay gives the take back.
fn decide<'a>(
    caller: &'a ConnectionContext,
    known: &'a ParsedRequest,
    line: &SessionKey,
    headers: &FaultHeaders,
) -> (Option<DecidedFault>, Option<Result<Owed<'a>, UnexplainedMiss>>) {
    let proxy = &*caller.proxy;
    let mut turn = proxy.faults.decider.turn(line.0.as_deref(), &line.1);
    let mut found = proxy.replayer.as_ref().map(|replayer| find(replayer, known));
    let take = found.as_ref().and_then(|found| found.as_ref().ok()).map(|owed| owed.hit.take);
    let known_name = take.zip(proxy.replayer.as_ref());
    let known_name = known_name.map(|(take, replayer)| replayer.matcher().name_of(take));
    let name = known_name.as_ref().zip(take).map(|(name, take)| name.take_key(take.number()));
    let name = name.unwrap_or_default();
    let trouble = take.and_then(|take| take.trouble());
    let standing = |trouble: &'a DeclaredFault| {
        Some(EntryFault { name: &name, fault: trouble.fault()?, alone: trouble.is_alone() })
    };
    let declared = FaultDeclarations {
        header: headers.fault.as_ref(),
        header_rates: headers.rates.as_ref(),
        entry: trouble.and_then(standing),
        entry_rates: trouble.and_then(DeclaredFault::rates),
    };
    let observed = known.seen.storable();
    let step = observed.step.as_deref().or(known_name.as_ref().and_then(|name| name.step_id()));
    let facts = CallFacts {
        key: hash_of(&line.1),
        step,
        upstream: &observed.upstream,
        provider: observed.call.provider.name(),
        operation: observed.call.operation.as_str(),
        model: observed.call.model.as_deref(),
        path: &observed.request.path,
        session: observed.session.as_deref(),
        body: LazyBody::from(&*observed.request.body),
        call: turn.call,
        attempt: turn.attempt,
        connection: caller.number,
    };
    let decided = turn.decide(&facts, declared);
    let Some(Ok(owed)) = &mut found else { return (decided, found) };
    let well = owed.hit.take.is_well();
    match &decided {
        None if well => turn.well(),
        Some(decided) if decided.fault.only_delays() && well => turn.well(),
        Some(decided)
            if !decided.fault.only_delays()
                && !owed.replayer.matcher().is_used_by(owed.hit.take, decided) =>
        {
            owed.release();
        }
        _ => {}
    }
    (decided, found)
}

/// The take that a call is owed. A body that holds the caller's own key was recorded
/// without it.
fn find<'a>(
    replayer: &'a ReplayEngine,
    known: &'a ParsedRequest,
) -> Result<Owed<'a>, UnexplainedMiss> {
    let seen = &known.seen;
    let find = |observed: &'a NormalizedRequest| {
        replayer.find(observed).map(|hit| Owed { replayer, observed, hit, held: true })
    };
    match (find(&seen.observed), &seen.scrubbed) {
        (Err(_), Some(scrubbed)) => find(scrubbed),
        (found, _) => found,
    }
}

/// The recorded answer, due as if the call had come at `arrived`.
async fn deliver(
    proxy: &Proxy,
    asked: &IncomingCall,
    mut owed: Owed<'_>,
    arrived: Instant,
) -> Result<Response<AnyBody>, UnexplainedMiss> {
    let accepted = handler::accepted(asked);
    match owed.replayer.deliver(&owed.hit, owed.observed, accepted, arrived.into()).await {
        Ok(answered) => Ok(handler::served(proxy, asked, answered).await),
        Err(miss) => {
            owed.release();
            Err(miss)
        }
    }
}

/// Sends what stands in place of an answer, or nothing at all. A call that no recording
/// answers is a miss all the same: a fault does not hide it.
async fn replace(
    caller: &ConnectionContext,
    mark: ActiveFault,
    asked: Box<IncomingCall>,
    missed: Option<UnexplainedMiss>,
    instead: AnswerSubstitute,
) -> Result<Response<AnyBody>, AbandonedCall> {
    let proxy = &caller.proxy;
    RunCounters::count(&proxy.telemetry.counters.faulted);
    if let Some(miss) = missed {
        handler::count_miss(proxy, &asked, miss).await;
    }
    match instead {
        AnswerSubstitute::Silence { for_ms, then } => {
            track(&asked, "faulted", None, OutcomeDetail::Nothing);
            Err(no_response::keep(proxy, &caller.connection, for_ms, no_response::cut(then)).await)
        }
        AnswerSubstitute::Answer(made) => {
            let mut response = response(made);
            mark.label(response.headers_mut());
            track(&asked, "faulted", Some(response.status()), OutcomeDetail::Nothing);
            Ok(response)
        }
    }
}

/// A made answer as a response. A fault may stand in a recording of a stranger's: headers that
/// no recorded answer may send, it may not send either.
fn response(made: SyntheticResponse) -> Response<AnyBody> {
    let mut response = Response::new(AnyBody::Full(Bytes::from(made.body).into()));
    *response.status_mut() =
        StatusCode::from_u16(made.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let sent = |name: &str| is_replayed(&name.to_ascii_lowercase());
    for (name, value) in made.headers.iter().filter(|(name, _)| sent(name)) {
        let name = HeaderName::try_from(name.as_str());
        if let (Ok(name), Ok(value)) = (name, HeaderValue::from_str(value)) {
            response.headers_mut().append(name, value);
        }
    }
    response
}

/// Has something happen to the true answer of a call.
async fn apply_to_response(
    caller: &ConnectionContext,
    mut mark: ActiveFault,
    mut asked: Box<IncomingCall>,
    mut found: Option<Result<Owed<'_>, UnexplainedMiss>>,
) -> Result<Response<AnyBody>, AbandonedCall> {
    let proxy = &caller.proxy;
    let known = Arc::clone(&asked.known);
    if let Some(Ok(owed)) = &mut found {
        mark.claim = owed.claim(proxy, &mark);
    }
    let observed = known.seen.storable();
    let fault = mark.decided.fault.clone();
    if fault.only_delays() {
        mark.late =
            Some(DelayedCall::new(proxy, &mark.line, (mark.id, mark.decided.attempt), &asked));
    }
    let mut delay_ms = 0;
    if let Fault::Slow { delay_ms: by } = fault {
        mark.fired();
        delay_ms = by;
    }
    if looks_inside(&fault) {
        asked.headers.insert(http::header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
    }
    let answered = match found {
        Some(Ok(owed)) => {
            proxy.faults.pause(delay_ms).await;
            // What is paced is late by as much, from end to end.
            let arrived = asked.arrived + Duration::from_millis(delay_ms);
            deliver(proxy, &asked, owed, arrived).await.map_err(Some)
        }
        Some(Err(miss)) => Err(Some(miss)),
        None => Err(None),
    };
    let response = match answered {
        Ok(response) => response,
        Err(miss) => {
            mark.claim = None;
            let response = unowed(proxy, &mut mark, asked, miss).await;
            // The answer is there first, so that a client that leaves meanwhile does not
            // keep it from being recorded.
            proxy.faults.pause(delay_ms).await;
            if response.headers().contains_key("x-loomrec-error") {
                mark.late.into_iter().for_each(DelayedCall::answer_sent);
                return Ok(response);
            }
            response
        }
    };
    mark.late.iter_mut().for_each(DelayedCall::heard);
    Ok(distorted(caller, mark, observed, response).await)
}

/// A live answer, a script's, a forwarded one; or what the call gets without a fault.
async fn unowed(
    proxy: &Arc<Proxy>,
    mark: &mut ActiveFault,
    asked: Box<IncomingCall>,
    miss: Option<UnexplainedMiss>,
) -> Response<AnyBody> {
    let response = handler::unanswered(proxy, asked, miss).await;
    let good = response.status().as_u16() < 400;
    if let Some(script::ScriptedCall(call)) = response.extensions().get() {
        let keeps = mark.late.is_some();
        mark.claim = Some(TakeLease::scripted(proxy, &mark.line, (*call, good), keeps));
    }
    // A call that does not get its answer as it is will be made again.
    if let Some(late) = mark.late.as_mut() {
        late.heard();
        if good {
            late.was_well();
            proxy.faults.decider.well(mark.line.0.as_deref(), &mark.line.1);
        }
    }
    response
}
