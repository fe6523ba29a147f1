//! A request that has been read and routed, with all that is needed to answer it: the shape
//! of its errors, the request as it is forwarded, its journal line.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, Method, StatusCode};
use serde_json::Value;

use super::Proxy;
use super::call_tracker::CallTracker;
use super::parsed_request::ParsedRequest;
use super::route::Route;
use crate::provider::{Provider, directory};
use crate::record::remove_hop_by_hop;
use crate::recording::normalized_request::NormalizedRequest;
use crate::recording::redact::CallCredentials;
use crate::telemetry::call_record::OutcomeDetail;
use crate::upstream::UpstreamRequest;

/// A request that has been read in full, placed and observed.
#[derive(Clone)]
pub(super) struct IncomingCall {
    pub(super) known: Arc<ParsedRequest>,
    pub(super) method: Method,
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
    pub(super) arrived: Instant,
    /// The same moment in microseconds since 1970, unique in this run.
    pub(super) at: i64,
    /// What its line in the journal says of its fault.
    pub(super) fault: Option<Arc<Value>>,
    /// Where what becomes of it is written down.
    pub(super) account: Arc<CallTracker>,
}

impl IncomingCall {
    pub(super) fn route(&self) -> &Route {
        &self.known.place
    }

    /// The shape that errors have for this call.
    pub(super) fn shape(&self) -> Provider {
        shape_of(&self.known.seen.observed, self.known.place.provider)
    }

    /// Waits until its answer is due.
    pub(super) async fn wait_until(&self, due: Option<tokio::time::Instant>) {
        let Some(due) = due else { return };
        let before = self.account.elapsed();
        tokio::time::sleep_until(due).await;
        self.waited_since(before);
    }

    /// What went by since then was waiting for somebody else.
    pub(super) fn waited_since(&self, before: Duration) {
        let after = self.account.elapsed();
        self.account.write(|seen| seen.waited += after.saturating_sub(before));
    }

    /// Its credentials.
    pub(super) fn secrets(&self) -> &CallCredentials {
        &self.known.seen.secrets
    }
}

/// The shape of errors for a call: its own, else its upstream's.
fn shape_of(observed: &NormalizedRequest, upstream: Provider) -> Provider {
    match observed.call.provider {
        Provider::Unknown => upstream,
        known => known,
    }
}

/// The request as it goes upstream.
pub(super) fn forward_of(proxy: &Proxy, asked: &IncomingCall) -> Option<UpstreamRequest> {
    let mut headers = asked.headers.clone();
    remove_hop_by_hop(&mut headers);
    let is_ours = |name: &&HeaderName| {
        let name = name.as_str();
        name.starts_with("x-loomrec-") || name.starts_with("x-aimock-chaos-")
    };
    let ours: Vec<_> = headers.keys().filter(is_ours).cloned().collect();
    for name in ours {
        headers.remove(name);
    }
    for name in ["host", "content-length", "expect"] {
        headers.remove(name);
    }
    if !proxy.config.keep_encoding {
        headers.insert("accept-encoding", http::HeaderValue::from_static("identity"));
    }
    let place = asked.route();
    let base = proxy.routes.base(place)?;
    Some(UpstreamRequest {
        upstream: place.upstream.clone(),
        base: base.clone(),
        method: asked.method.clone(),
        path: directory::sent_path(&place.upstream, &place.path, base.path()),
        query: place.query.clone(),
        headers,
        body: asked.body.clone(),
    })
}

/// Writes down what a call was answered with.
pub(super) fn track(
    asked: &IncomingCall,
    outcome: &'static str,
    status: Option<StatusCode>,
    more: OutcomeDetail,
) {
    asked.account.set_outcome(outcome, status, more, asked.fault.clone());
}
