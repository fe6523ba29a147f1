//! A request that has been read and placed, and what every way of answering it
//! needs: the shape of its errors, the request as it goes on, its journal line.

use std::time::Instant;

use bytes::Bytes;
use http::{HeaderMap, Method, StatusCode};
use serde_json::{Value, json};

use super::route::Place;
use super::{Gateway, Notice};
use crate::provider::{Provider, directory};
use crate::record::remove_hop_by_hop;
use crate::recording::observed::Observed;
use crate::upstream::Forward;

/// A request that has been read in full and placed.
pub(super) struct Asked {
    pub(super) place: Place,
    pub(super) method: Method,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    pub(super) arrived: Instant,
    pub(super) recorded_at: String,
}

/// The shape of errors for a call: its own, else its upstream's.
pub(super) fn shape_of(observed: &Observed, upstream: Provider) -> Provider {
    match observed.call.provider {
        Provider::Unknown => upstream,
        known => known,
    }
}

/// The request as it goes upstream.
pub(super) fn forward_of(gateway: &Gateway, asked: &Asked) -> Option<Forward> {
    let mut headers = asked.headers.clone();
    remove_hop_by_hop(&mut headers);
    let ours: Vec<_> =
        headers.keys().filter(|name| name.as_str().starts_with("x-loomrec-")).cloned().collect();
    for name in ours {
        headers.remove(name);
    }
    for name in ["host", "content-length", "expect"] {
        headers.remove(name);
    }
    if !gateway.config.keep_encoding {
        headers.insert("accept-encoding", http::HeaderValue::from_static("identity"));
    }
    Some(Forward {
        upstream: asked.place.upstream.clone(),
        base: asked.place.base.clone()?,
        method: asked.method.clone(),
        path: upstream_path(&asked.place),
        query: asked.place.query.clone(),
        headers,
        body: asked.body.clone(),
    })
}

/// The path as the upstream takes it. Anthropic's SDKs share one variable and
/// disagree on whether its value ends in `/v1`, so both ways are understood;
/// every other path goes on as it came.
fn upstream_path(place: &Place) -> String {
    let Some(known) = directory::Upstream::find(&place.upstream) else {
        return place.path.clone();
    };
    let path = known.own_path(&place.path);
    let doubled = place.base.as_ref().is_some_and(|base| {
        known.name == "anthropic" && base.path().trim_end_matches('/').ends_with("/v1")
    });
    let path = if doubled { path.strip_prefix("/v1").unwrap_or(&path) } else { &path };
    path.to_owned()
}

/// Adds a line to the journal. Nothing in it is a secret: it is made of what may
/// be stored.
pub(super) fn note(
    gateway: &Gateway,
    asked: &Asked,
    observed: &Observed,
    outcome: &str,
    status: StatusCode,
    more: Value,
) {
    let line = json!({
        "at": asked.recorded_at,
        "outcome": outcome,
        "status": status.as_u16(),
        "method": observed.request.method,
        "path": observed.request.path,
        "upstream": observed.upstream,
        "operation": observed.call.operation.name(),
        "model": observed.call.model,
        "streamed": observed.call.streamed,
        "step_id": observed.step,
        "session": observed.session,
        "head_ms": (asked.arrived.elapsed().as_secs_f64() * 10_000.0).round() / 10.0,
        "more": more,
    });
    (gateway.notify)(Notice::Call(&line));
    gateway.journal.add(line);
}
