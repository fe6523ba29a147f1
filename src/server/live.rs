//! Calls that go to a live upstream: recorded, or passed on.

use std::fmt::Display;
use std::sync::Arc;

use http::{Response, StatusCode};
use serde_json::{Value, json};

use super::asked::{Asked, forward_of, note, shape_of};
use super::observe::Seen;
use super::respond::{self, AnyBody};
use super::tally::Tally;
use super::{Gateway, Notice};
use crate::provider::Provider;
use crate::record::capture::header_list;
use crate::record::{Job, remove_hop_by_hop};
use crate::recording::EntryName;
use crate::recording::observed::Observed;
use crate::recording::redact::Secrets;
use crate::upstream::{Client, UpstreamError};

/// Sends the call on and records it.
pub(super) async fn record(gateway: &Arc<Gateway>, asked: Asked, seen: Seen) -> Response<AnyBody> {
    let shape = shape_of(&seen.observed, asked.place.provider);
    let Some(recorder) = &gateway.recorder else {
        return respond::error(
            shape,
            StatusCode::INTERNAL_SERVER_ERROR,
            "NoEngine",
            "this run neither records nor replays",
        );
    };
    let (observed, secrets) = seen.into_stored();
    let name = match &observed.step {
        Some(step) => match EntryName::step(step) {
            Ok(name) => name,
            Err(error) => return refuse(gateway, shape, &asked, &error),
        },
        None => EntryName::Hash(observed.request.key(&observed.call, recorder.rules())),
    };
    let Some(forward) = forward_of(gateway, &asked) else { return no_base(gateway, shape, &asked) };
    let job = Job {
        observed: observed.clone(),
        name,
        secrets,
        arrived: asked.arrived,
        recorded_at: asked.recorded_at.clone(),
    };
    match recorder.run(job, forward).await {
        Ok(response) => {
            note(gateway, &asked, &observed, "recorded", response.status(), Value::Null);
            response.map(AnyBody::Tee)
        }
        Err(error) => unreachable_upstream(gateway, shape, &asked, &observed, &error),
    }
}

/// Sends the call on and keeps nothing of it (`--on-miss forward`).
pub(super) async fn pass(
    gateway: &Gateway,
    client: &Client,
    asked: Asked,
    seen: &Seen,
) -> Response<AnyBody> {
    let observed = seen.storable();
    let shape = shape_of(observed, asked.place.provider);
    let Some(forward) = forward_of(gateway, &asked) else { return no_base(gateway, shape, &asked) };
    match client.send(forward).await {
        Ok(response) => {
            Tally::count(&gateway.tally.forwarded);
            note(gateway, &asked, observed, "forwarded", response.status(), Value::Null);
            let (mut parts, body) = response.into_parts();
            remove_hop_by_hop(&mut parts.headers);
            Response::from_parts(parts, AnyBody::Live(body))
        }
        Err(error) => unreachable_upstream(gateway, shape, &asked, observed, &error),
    }
}

/// A request that cannot be taken on.
fn refuse(
    gateway: &Gateway,
    shape: Provider,
    asked: &Asked,
    error: &impl Display,
) -> Response<AnyBody> {
    let message = telling(gateway, asked, error);
    Tally::count(&gateway.tally.refused);
    (gateway.notify)(Notice::Refused(&message));
    respond::error(shape, StatusCode::BAD_REQUEST, "BadRequest", &message)
}

/// What an error says, without credentials.
fn telling(gateway: &Gateway, asked: &Asked, error: &impl Display) -> String {
    let secrets = Secrets::of(&header_list(&asked.headers), &asked.place.query);
    gateway.redactor.redact_text(&format!("failed to {error}"), &secrets).into_owned()
}

/// An upstream whose address only the user knows.
fn no_base(gateway: &Gateway, shape: Provider, asked: &Asked) -> Response<AnyBody> {
    let name = &asked.place.upstream;
    let message = format!(
        "upstream {name} has no public address: say where yours is with --upstream {name}=URL"
    );
    Tally::count(&gateway.tally.unreachable);
    (gateway.notify)(Notice::Refused(&message));
    respond::error(shape, StatusCode::BAD_GATEWAY, "UpstreamUnknown", &message)
}

/// An upstream that gave no answer: said, and not recorded as one.
fn unreachable_upstream(
    gateway: &Gateway,
    shape: Provider,
    asked: &Asked,
    observed: &Observed,
    error: &UpstreamError,
) -> Response<AnyBody> {
    if matches!(error, UpstreamError::Path { .. }) {
        return refuse(gateway, shape, asked, error);
    }
    let message = telling(gateway, asked, error);
    Tally::count(&gateway.tally.unreachable);
    (gateway.notify)(Notice::Refused(&message));
    let response = respond::error(shape, StatusCode::BAD_GATEWAY, "UpstreamUnreachable", &message);
    note(gateway, asked, observed, "unreachable", response.status(), json!({ "message": message }));
    response
}
