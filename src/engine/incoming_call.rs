//! A call that came in: its request was read in full, routed, and freed of secrets.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use http::header::ACCEPT_ENCODING;
use http::{HeaderMap, Method};

use super::parsed_request::ParsedRequest;
use super::route::Route;
use loomrec_provider::Provider;
use loomrec_recording::normalized_request::NormalizedRequest;
use loomrec_recording::redact::CallCredentials;

/// A call whose request was read in full, routed, and freed of secrets.
pub struct IncomingCall {
    /// What follows from the bytes of the request.
    pub parsed: Arc<ParsedRequest>,
    /// The method.
    pub method: Method,
    /// The headers as they came.
    pub headers: HeaderMap,
    /// The body as it came.
    pub body: Bytes,
    /// When the call arrived.
    pub arrived: Instant,
    /// The same moment in microseconds since 1970, unique in this run.
    pub arrived_at: i64,
}

impl IncomingCall {
    /// Where the call goes.
    pub(crate) fn route(&self) -> &Route {
        &self.parsed.route
    }

    /// The shape that errors have for this call: its own, else its upstream's.
    pub fn error_shape(&self) -> Provider {
        let own = self.parsed.redacted.observed.call.provider;
        if own == Provider::UNKNOWN { self.parsed.route.provider } else { own }
    }

    /// What may be stored or shown of the request.
    pub fn storable(&self) -> &NormalizedRequest {
        self.parsed.redacted.storable()
    }

    /// Its credentials.
    pub fn secrets(&self) -> &CallCredentials {
        &self.parsed.redacted.secrets
    }

    /// The content codings that the caller takes.
    pub(crate) fn accept_encoding(&self) -> Option<&str> {
        self.headers.get(ACCEPT_ENCODING).and_then(|value| value.to_str().ok())
    }
}
