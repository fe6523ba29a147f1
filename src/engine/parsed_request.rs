//! Everything that follows from the bytes of a request alone.

use std::sync::Arc;

use bytes::Bytes;

use super::route::Route;
use crate::request_summary::RequestSummary;
use loomrec_recording::normalized_request::NormalizedRequest;
use loomrec_recording::redact::{self, CallCredentials};

/// A request, redacted, and its credentials.
#[derive(Clone, Debug)]
pub struct RedactedRequest {
    /// Without everything that looks like a key, for the lookup. The caller's own credentials may
    /// still be in its body, so it is never shown.
    pub observed: NormalizedRequest,
    /// The same without the request's own credentials in its body; `None` if there were none.
    pub scrubbed: Option<NormalizedRequest>,
    /// The request's own credentials.
    pub secrets: Arc<CallCredentials>,
}

impl RedactedRequest {
    /// Returns the request as it may be stored or shown.
    pub fn storable_request(&self) -> &NormalizedRequest {
        self.scrubbed.as_ref().unwrap_or(&self.observed)
    }

    /// Returns the same, and the credentials that were removed from it.
    pub fn into_stored(self) -> (NormalizedRequest, Arc<CallCredentials>) {
        (self.scrubbed.unwrap_or(self.observed), self.secrets)
    }
}

/// Everything that follows from the bytes of a request alone.
#[derive(Clone, Debug)]
pub struct ParsedRequest {
    pub(crate) route: Arc<Route>,
    /// The redacted request.
    pub redacted: RedactedRequest,
    /// What journals, spans and logs report of it; it outlives the body.
    pub summary: Arc<RequestSummary>,
}

impl ParsedRequest {
    /// Returns the size, in bytes, of the bodies that it holds beside `received`. A body that
    /// redaction left as it was shares the memory of the received one.
    pub(crate) fn body_bytes_beside(&self, received: &Bytes) -> usize {
        let is_received =
            |body: &Bytes| body.as_ptr() == received.as_ptr() && body.len() == received.len();
        [Some(&self.redacted.observed), self.redacted.scrubbed.as_ref()]
            .into_iter()
            .flatten()
            .flat_map(NormalizedRequest::held_bodies)
            .filter(|body| !is_received(body))
            .map(Bytes::len)
            .sum()
    }
}

/// Whether a header of this name, in lower case, affects where a request goes, how it is identified
/// or what is stored of it. The headers in `named`, those that rules name, do.
pub(crate) fn looks_at(name: &str, named: &[String]) -> bool {
    redact::is_stored_header(name)
        || CallCredentials::may_be_in(name)
        || name.starts_with("x-loomrec-")
        || named.iter().any(|known| known == name)
        || matches!(name, "content-encoding" | "user-agent")
}
