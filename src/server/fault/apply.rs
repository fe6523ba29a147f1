//! The true answer of a call, as its fault has it.

use std::sync::Arc;

use http::{HeaderMap, HeaderValue, Response, StatusCode};
use http_body::Body as _;

use super::super::connection_context::ConnectionContext;
use super::super::respond::AnyBody;
use super::active_fault::{ActiveFault, NotApplied};
use super::body::FaultBody;
use super::delayed_call::DelayedCall;
use super::prefixed_body;
use super::recovery_tracker::SessionKey;
use super::take_lease::TakeLease;
use crate::fault::{self, BodyTransform, Fault};
use crate::provider::{Framing, ResponseFormat};
use crate::recording::encoding;
use crate::recording::normalized_request::NormalizedRequest;
use crate::replay::ReplayBody;

/// What a call asks of the form of its answer.
pub(super) fn form(observed: &NormalizedRequest) -> ResponseFormat<'_> {
    let request = &observed.request;
    ResponseFormat::of(&observed.call, &observed.upstream, &request.query, &request.body)
}

/// `response`, which ends the faults of its calls if it is a good one.
pub(super) fn mark_recovered(
    caller: &ConnectionContext,
    response: Response<AnyBody>,
    line: SessionKey,
) -> Response<AnyBody> {
    let proxy = &caller.proxy;
    if response.status().as_u16() >= 400 || !proxy.faults.watch.awaits(&line) {
        return response;
    }
    response.map(|body| wrap(caller, body, None, Some(line), (None, None)))
}

fn wrap(
    caller: &ConnectionContext,
    body: AnyBody,
    distort: Option<(BodyTransform, ActiveFault)>,
    heals: Option<SessionKey>,
    claims: (Option<TakeLease>, Option<DelayedCall>),
) -> AnyBody {
    let around = (Arc::clone(&caller.proxy), Arc::clone(&caller.connection));
    let announced = body.size_hint().exact();
    AnyBody::Fault(Box::new(
        FaultBody::new(body, around, distort, heals, announced).claiming(claims),
    ))
}

/// Whether a fault has to read the answer: it can do nothing with a compressed one.
pub(super) fn looks_inside(fault: &Fault) -> bool {
    !fault.only_delays() || matches!(fault, Fault::StreamStall { .. })
}

/// The true answer as the fault has it.
pub(super) async fn distorted(
    caller: &ConnectionContext,
    mut mark: ActiveFault,
    observed: &NormalizedRequest,
    mut response: Response<AnyBody>,
) -> Response<AnyBody> {
    let fault = mark.decided.fault.clone();
    let form = form(observed);
    let framing = framing(&form, observed, response.headers());
    if fault.only_delays() && is_bodiless(observed, response.status()) {
        if matches!(fault, Fault::Slow { .. }) {
            mark.label(response.headers_mut());
            return answered(caller, mark, response);
        }
        return not_applied(caller, mark, response, &NotApplied::NoBody);
    }
    if matches!(fault, Fault::Slow { .. }) {
        mark.label(response.headers_mut());
        let heals = Some(mark.line).filter(|_| response.status().as_u16() < 400);
        let claims = (mark.claim, mark.late);
        return response.map(|body| wrap(caller, body, None, heals, claims));
    }
    if matches!(fault, Fault::PartialResponse { .. } | Fault::ToolCallFault { .. }) {
        return match rewrite(&form, framing, &mut mark, response).await {
            Ok(response) => response,
            Err((response, why)) => {
                not_applied(caller, mark, response, &NotApplied::Inapplicable(why))
            }
        };
    }
    let announced = response.body().size_hint().exact();
    let made = || BodyTransform::new(&fault, &form, framing, announced, mark.decided.roll);
    let Some(mut distort) = made() else {
        return not_applied(caller, mark, response, &NotApplied::OtherKind);
    };
    let mut total = None;
    if let AnyBody::Replay(body) = response.body() {
        total = Some(body.total());
        if !made().is_some_and(|trial| strikes(trial, &response, body)) {
            return not_applied(caller, mark, response, &NotApplied::TooShort);
        }
    } else if matches!(fault, Fault::WrongLength { .. }) && announced.is_none() {
        return not_applied(caller, mark, response, &NotApplied::NoLength);
    }
    let (mut parts, body) = response.into_parts();
    distort.head(&mut parts.status, &mut parts.headers, total);
    mark.label(&mut parts.headers);
    if matches!(fault, Fault::WrongLength { .. }) {
        // What is sent behind the announced length is sent before the close.
        parts.headers.insert(http::header::CONNECTION, HeaderValue::from_static("close"));
    }
    let good = fault.only_delays() && parts.status.as_u16() < 400;
    let heals = good.then(|| mark.line.clone());
    let claims = (mark.claim.take(), mark.late.take());
    Response::from_parts(parts, wrap(caller, body, Some((distort, mark)), heals, claims))
}

/// Whether an answer has no body by its nature.
fn is_bodiless(observed: &NormalizedRequest, status: StatusCode) -> bool {
    observed.request.method == "HEAD" || matches!(status.as_u16(), 204 | 304)
}

/// Whether a fault will happen to a recorded answer.
fn strikes(mut trial: BodyTransform, response: &Response<AnyBody>, body: &ReplayBody) -> bool {
    let (mut status, mut headers) = (response.status(), response.headers().clone());
    trial.head(&mut status, &mut headers, Some(body.total()));
    for chunk in body.chunks() {
        trial.feed(chunk);
        while !trial.struck() && trial.step().is_some() {}
        if trial.struck() {
            return true;
        }
    }
    match body.is_cut() {
        true => trial.release(),
        false => trial.finish(),
    }
    while !trial.struck() && trial.step().is_some() {}
    trial.struck()
}

/// An answer to which its fault could not happen: it goes out as it is, and is used up.
fn not_applied(
    caller: &ConnectionContext,
    mark: ActiveFault,
    response: Response<AnyBody>,
    why: &NotApplied,
) -> Response<AnyBody> {
    mark.missed(why);
    answered(caller, mark, response)
}

/// The answer of a call that gets it as it is.
fn answered(
    caller: &ConnectionContext,
    mark: ActiveFault,
    response: Response<AnyBody>,
) -> Response<AnyBody> {
    let line = mark.line;
    mark.late.into_iter().for_each(DelayedCall::answer_sent);
    match mark.claim {
        Some(claim) => claim.answered(),
        None if response.status().as_u16() < 400 => {
            caller.proxy.faults.decider.well(line.0.as_deref(), &line.1);
        }
        None => {}
    }
    mark_recovered(caller, response, line)
}

/// How an answer with these headers is framed; `None` where it is no stream.
fn framing(
    form: &ResponseFormat<'_>,
    observed: &NormalizedRequest,
    headers: &HeaderMap,
) -> Option<Framing> {
    if encoding::coding_of(headers).is_some() {
        return None;
    }
    let media = headers.get(http::header::CONTENT_TYPE)?.to_str().ok()?;
    let media = media.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let array = form.framing == Framing::Array && observed.call.streamed;
    match Framing::of_media(&media) {
        None if array && media == "application/json" => Some(Framing::Array),
        framing => framing,
    }
}

/// An answer that says something else.
///
/// # Errors
/// The answer as it is, and why it cannot say so.
async fn rewrite(
    form: &ResponseFormat<'_>,
    framing: Option<Framing>,
    mark: &mut ActiveFault,
    response: Response<AnyBody>,
) -> Result<Response<AnyBody>, (Response<AnyBody>, String)> {
    let fault = mark.decided.fault.clone();
    let change = |bytes: &[u8]| fault::rewrite(&fault, form, framing, bytes);
    let (mut parts, body) = response.into_parts();
    let changed = match body {
        AnyBody::Replay(body) => match body.rewritten(change) {
            Ok(body) => Ok(AnyBody::Replay(body)),
            Err((body, why)) => Err((AnyBody::Replay(body), why.to_string())),
        },
        other => prefixed_body::changed(other, change).await,
    };
    match changed {
        Ok(body) => {
            mark.fired();
            mark.label(&mut parts.headers);
            if let Some(length) = body.size_hint().exact() {
                parts.headers.insert(http::header::CONTENT_LENGTH, HeaderValue::from(length));
            }
            Ok(Response::from_parts(parts, body))
        }
        Err((body, why)) => Err((Response::from_parts(parts, body), why)),
    }
}
