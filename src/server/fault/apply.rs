//! The true answer of a call, as its fault has it.

use std::sync::Arc;

use http::{HeaderMap, HeaderValue, Response, StatusCode};
use http_body::Body as _;

use super::super::caller::Caller;
use super::super::respond::AnyBody;
use super::body::FaultBody;
use super::claim::Claim;
use super::gather;
use super::late::Late;
use super::mark::{Mark, Spared};
use super::watch::Line;
use crate::fault::{self, Distort, Fault};
use crate::provider::{Asked as Form, Framing};
use crate::recording::encoding;
use crate::recording::observed::Observed;
use crate::replay::ReplayBody;

/// What a call asks of the form of its answer.
pub(super) fn form(observed: &Observed) -> Form<'_> {
    let request = &observed.request;
    Form::of(&observed.call, &observed.upstream, &request.query, &request.body)
}

/// `response`, which ends the faults of its calls if it is a good one.
pub(super) fn heal(caller: &Caller, response: Response<AnyBody>, line: Line) -> Response<AnyBody> {
    let gateway = &caller.gateway;
    if response.status().as_u16() >= 400 || !gateway.faults.watch.awaits(&line) {
        return response;
    }
    response.map(|body| wrap(caller, body, None, Some(line), (None, None)))
}

fn wrap(
    caller: &Caller,
    body: AnyBody,
    distort: Option<(Distort, Mark)>,
    heals: Option<Line>,
    claims: (Option<Claim>, Option<Late>),
) -> AnyBody {
    let around = (Arc::clone(&caller.gateway), Arc::clone(&caller.connection));
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
    caller: &Caller,
    mut mark: Mark,
    observed: &Observed,
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
        return spared(caller, mark, response, &Spared::NoBody);
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
            Err((response, why)) => spared(caller, mark, response, &Spared::Inapplicable(why)),
        };
    }
    let announced = response.body().size_hint().exact();
    let made = || Distort::new(&fault, &form, framing, announced, mark.decided.roll);
    let Some(mut distort) = made() else {
        return spared(caller, mark, response, &Spared::OtherKind);
    };
    let mut total = None;
    if let AnyBody::Replay(body) = response.body() {
        total = Some(body.total());
        if !made().is_some_and(|trial| strikes(trial, &response, body)) {
            return spared(caller, mark, response, &Spared::TooShort);
        }
    } else if matches!(fault, Fault::WrongLength { .. }) && announced.is_none() {
        return spared(caller, mark, response, &Spared::NoLength);
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
fn is_bodiless(observed: &Observed, status: StatusCode) -> bool {
    observed.request.method == "HEAD" || matches!(status.as_u16(), 204 | 304)
}

/// Whether a fault will happen to a recorded answer.
fn strikes(mut trial: Distort, response: &Response<AnyBody>, body: &ReplayBody) -> bool {
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
fn spared(
    caller: &Caller,
    mark: Mark,
    response: Response<AnyBody>,
    why: &Spared,
) -> Response<AnyBody> {
    mark.missed(why);
    answered(caller, mark, response)
}

/// The answer of a call that gets it as it is.
fn answered(caller: &Caller, mark: Mark, response: Response<AnyBody>) -> Response<AnyBody> {
    let line = mark.line;
    mark.late.into_iter().for_each(Late::over);
    match mark.claim {
        Some(claim) => claim.answered(),
        None if response.status().as_u16() < 400 => {
            caller.gateway.faults.decider.well(line.0.as_deref(), &line.1);
        }
        None => {}
    }
    heal(caller, response, line)
}

/// How an answer with these headers is framed; `None` where it is no stream.
fn framing(form: &Form<'_>, observed: &Observed, headers: &HeaderMap) -> Option<Framing> {
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
    form: &Form<'_>,
    framing: Option<Framing>,
    mark: &mut Mark,
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
        other => gather::changed(other, change).await,
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
