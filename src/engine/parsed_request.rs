//! Everything that follows from the bytes of a request alone.

use std::sync::Arc;

use super::route::Route;
use crate::request_summary::RequestSummary;
use loomrec_recording::normalized_request::NormalizedRequest;
use loomrec_recording::redact::{self, CallCredentials};

/// A request with its secrets apart.
#[derive(Clone, Debug)]
pub struct RedactedRequest {
    /// Freed of everything that looks like a key, for looking it up: the caller's
    /// own credentials may still stand in its body, so it is never shown.
    pub observed: NormalizedRequest,
    /// The same with this request's own credentials taken out of its body too,
    /// where they stood in it.
    pub scrubbed: Option<NormalizedRequest>,
    /// The request's own credentials.
    pub secrets: Arc<CallCredentials>,
}

impl RedactedRequest {
    /// What may be stored or shown of the request.
    pub fn storable(&self) -> &NormalizedRequest {
        self.scrubbed.as_ref().unwrap_or(&self.observed)
    }

    /// The same, and the credentials that were taken out of it.
    pub fn into_stored(self) -> (NormalizedRequest, Arc<CallCredentials>) {
        (self.scrubbed.unwrap_or(self.observed), self.secrets)
    }
}

/// Everything that follows from a request's bytes alone.
#[derive(Clone, Debug)]
pub struct ParsedRequest {
    pub(crate) route: Arc<Route>,
    /// The request, freed of secrets.
    pub redacted: RedactedRequest,
    /// What journals, spans and logs say of it; it outlives the body.
    pub summary: Arc<RequestSummary>,
}

impl ParsedRequest {
    /// The bytes of the bodies it holds.
    pub(crate) fn body_bytes(&self) -> usize {
        let scrubbed = self.redacted.scrubbed.as_ref().map_or(0, |other| other.request.body.len());
        self.redacted.observed.request.body.len() + scrubbed
    }
}

/// Whether a header of this name, in lower case, has a part in placing a request,
/// in recognising it, or in what is kept of it. Those that are `named` by rules have one.
pub(crate) fn looks_at(name: &str, named: &[String]) -> bool {
    redact::stores(name)
        || CallCredentials::may_be_in(name)
        || name.starts_with("x-loomrec-")
        || named.iter().any(|known| known == name)
        || name == "content-encoding"
}
