//! Calls that go to a live upstream: recorded, or passed on.

use std::fmt::Display;

use http::{Response, StatusCode};
use serde_json::json;

use super::asked::{Asked, forward_of, note};
use super::clock::timestamp_of;
use super::journal::More;
use super::respond::{self, AnyBody};
use super::tally::Tally;
use super::{Gateway, Notice};
use crate::provider::Provider;
use crate::record::{Job, remove_hop_by_hop};
use crate::recording::EntryName;
use crate::upstream::{Client, UpstreamError};

/// Sends the call on and records it.
pub(super) async fn record(gateway: &Gateway, asked: Asked) -> Response<AnyBody> {
    let shape = asked.shape();
    let Some(recorder) = &gateway.recorder else {
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
            Err(error) => return refuse(gateway, shape, &asked, &error),
        },
        None => EntryName::Hash(key.clone()),
    };
    let Some(forward) = forward_of(gateway, &asked) else { return no_base(gateway, shape, &asked) };
    let (arrived, recorded_at) = (asked.arrived, timestamp_of(asked.at, recorder.place()));
    let job = Job { observed, key, name, secrets, arrived, recorded_at, verdict: None };
    match recorder.run(job, forward).await {
        Ok(response) => {
            note(gateway, &asked, "recorded", Some(response.status()), More::Nothing);
            response.map(AnyBody::Tee)
        }
        Err(error) => unreachable_upstream(gateway, shape, &asked, &error),
    }
}

/// Sends the call on and keeps nothing of it (`--on-miss forward`).
pub(super) async fn pass(gateway: &Gateway, client: &Client, asked: Asked) -> Response<AnyBody> {
    let shape = asked.shape();
    let Some(forward) = forward_of(gateway, &asked) else { return no_base(gateway, shape, &asked) };
    match client.send(forward).await {
        Ok(response) => {
            Tally::count(&gateway.tally.forwarded);
            note(gateway, &asked, "forwarded", Some(response.status()), More::Nothing);
            let (mut parts, body) = response.into_parts();
            remove_hop_by_hop(&mut parts.headers);
            Response::from_parts(parts, AnyBody::Live(body))
        }
        Err(error) => unreachable_upstream(gateway, shape, &asked, &error),
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
    gateway.redactor.redact_text(&format!("failed to {error}"), asked.secrets()).into_owned()
}

/// An upstream whose address only the user knows.
fn no_base(gateway: &Gateway, shape: Provider, asked: &Asked) -> Response<AnyBody> {
    let name = &asked.place().upstream;
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
    error: &UpstreamError,
) -> Response<AnyBody> {
    if matches!(error, UpstreamError::Path { .. }) {
        return refuse(gateway, shape, asked, error);
    }
    let message = telling(gateway, asked, error);
    Tally::count(&gateway.tally.unreachable);
    (gateway.notify)(Notice::Refused(&message));
    let response = respond::error(shape, StatusCode::BAD_GATEWAY, "UpstreamUnreachable", &message);
    let more = More::Value(json!({ "message": message }));
    note(gateway, asked, "unreachable", Some(response.status()), more);
    response
}
