//! Calls that go to a live upstream and are recorded, or only forwarded.

use std::fmt::Display;
use std::sync::Arc;

use http::{Response, StatusCode};
use serde_json::json;

use super::clock::timestamp_of;
use super::incoming_call::{IncomingCall, forward_of, track};
use super::respond::{self, AnyBody};
use super::{Proxy, UserNotice};
use crate::provider::Provider;
use crate::record::{OnRecorded, RecordJob, remove_hop_by_hop};
use crate::recording::EntryName;
use crate::telemetry::call_record::{ExchangeOutcome, OutcomeDetail, clip};
use crate::telemetry::run_counters::RunCounters;
use crate::upstream::{AmbiguousFraming, UpstreamClient, UpstreamError};

/// Sends the call on and records it.
pub(super) async fn record(proxy: &Proxy, asked: Box<IncomingCall>) -> Response<AnyBody> {
    let shape = asked.shape();
    let Some(recorder) = &proxy.recorder else {
        return respond::error(
            shape,
            StatusCode::INTERNAL_SERVER_ERROR,
            "NoEngine",
            "this run neither records nor replays",
        );
    };
    // A copy of names and counts: the body is shared.
    let (observed, secrets) = asked.known.seen.clone().into_stored();
    let key = observed.key(recorder.rules());
    let name = match &observed.step {
        Some(step) => match EntryName::step(step) {
            Ok(name) => name,
            Err(error) => return refuse(proxy, shape, &asked, &error),
        },
        None => EntryName::Hash(key.clone()),
    };
    let Some(forward) = forward_of(proxy, &asked) else { return no_base(proxy, shape, &asked) };
    let (arrived, recorded_at) = (asked.arrived, timestamp_of(asked.at, recorder.place()));
    let word = on_recorded(&asked);
    let job = RecordJob { observed, key, name, secrets, arrived, recorded_at, word, keeps: None };
    let before = asked.account.elapsed();
    let ran = recorder.run(job, forward).await;
    asked.waited_since(before);
    match ran {
        Ok(response) => {
            warn_if_ambiguous(proxy, &asked, &response);
            track(&asked, "recorded", Some(response.status()), OutcomeDetail::Nothing);
            response.map(AnyBody::Tee)
        }
        Err(error) => unreachable_upstream(proxy, shape, &asked, &error),
    }
}

/// Says, once for each upstream, why its answers end in a cut.
fn warn_if_ambiguous<B>(proxy: &Proxy, asked: &IncomingCall, response: &Response<B>) {
    let Some(framing) = response.extensions().get::<AmbiguousFraming>() else { return };
    let upstream = &asked.route().upstream;
    if proxy.telemetry.counters.is_first_ambiguous(upstream) {
        let text = format!(
            "upstream {upstream} sent {framing}, by which nobody can be sure where its answer \
             ends: such answers are passed on, and recorded, as cut"
        );
        (proxy.notify)(UserNotice::Warning(&text));
    }
}

/// What becomes of the exchange, written down.
fn on_recorded(asked: &IncomingCall) -> OnRecorded {
    let account = Arc::clone(&asked.account);
    OnRecorded::new(move |kept| {
        let exchange = ExchangeOutcome {
            kept: kept.outcome.is_ok(),
            times: kept.times,
            answered_by: kept.model.as_deref().map(clip),
        };
        account.write(|seen| {
            seen.set_tokens(kept.tokens.0, kept.tokens.1);
            seen.cost_usd = kept.cost_usd;
            seen.exchange = Some(Box::new(exchange));
        });
    })
}

/// Sends the call on and keeps nothing of it (`--on-miss forward`).
pub(super) async fn pass(
    proxy: &Proxy,
    client: &UpstreamClient,
    asked: Box<IncomingCall>,
) -> Response<AnyBody> {
    let shape = asked.shape();
    let Some(forward) = forward_of(proxy, &asked) else { return no_base(proxy, shape, &asked) };
    let before = asked.account.elapsed();
    let sent = client.send(forward).await;
    asked.waited_since(before);
    match sent {
        Ok(response) => {
            warn_if_ambiguous(proxy, &asked, &response);
            RunCounters::count(&proxy.telemetry.counters.forwarded);
            track(&asked, "forwarded", Some(response.status()), OutcomeDetail::Nothing);
            let (mut parts, body) = response.into_parts();
            remove_hop_by_hop(&mut parts.headers);
            Response::from_parts(parts, AnyBody::Live(body))
        }
        Err(error) => unreachable_upstream(proxy, shape, &asked, &error),
    }
}

/// A request that cannot be taken on.
fn refuse(
    proxy: &Proxy,
    shape: Provider,
    asked: &IncomingCall,
    error: &impl Display,
) -> Response<AnyBody> {
    let message = error_text(proxy, asked, error);
    RunCounters::count(&proxy.telemetry.counters.refused);
    (proxy.notify)(UserNotice::Refused(&message));
    let status = StatusCode::BAD_REQUEST;
    let response = respond::error(shape, status, "BadRequest", &message);
    track(asked, "refused", Some(status), OutcomeDetail::value(json!({ "message": message })));
    response
}

/// What an error says, without credentials.
fn error_text(proxy: &Proxy, asked: &IncomingCall, error: &impl Display) -> String {
    proxy.redactor.redact_text(&format!("failed to {error}"), asked.secrets()).into_owned()
}

/// An upstream whose address only the user knows.
fn no_base(proxy: &Proxy, shape: Provider, asked: &IncomingCall) -> Response<AnyBody> {
    let name = &asked.route().upstream;
    let message = format!(
        "upstream {name} has no public address: say where yours is with --upstream {name}=URL"
    );
    RunCounters::count(&proxy.telemetry.counters.unreachable);
    (proxy.notify)(UserNotice::Refused(&message));
    let status = StatusCode::BAD_GATEWAY;
    let response = respond::error(shape, status, "UpstreamUnknown", &message);
    track(asked, "unreachable", Some(status), OutcomeDetail::value(json!({ "message": message })));
    response
}

/// An upstream that gave no answer: said, and not recorded as one.
fn unreachable_upstream(
    proxy: &Proxy,
    shape: Provider,
    asked: &IncomingCall,
    error: &UpstreamError,
) -> Response<AnyBody> {
    if matches!(error, UpstreamError::Path { .. }) {
        return refuse(proxy, shape, asked, error);
    }
    let message = error_text(proxy, asked, error);
    RunCounters::count(&proxy.telemetry.counters.unreachable);
    (proxy.notify)(UserNotice::Refused(&message));
    let response = respond::error(shape, StatusCode::BAD_GATEWAY, "UpstreamUnreachable", &message);
    let more = OutcomeDetail::value(json!({ "message": message }));
    track(asked, "unreachable", Some(response.status()), more);
    response
}
