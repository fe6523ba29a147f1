//! The names that OpenTelemetry's semantic conventions give to providers and methods.

use loomrec_engine::RequestSummary;
use loomrec_provider::KnownUpstream;

/// Returns the system that a call is sent to: the upstream, if the conventions name it, otherwise
/// the provider whose API it uses.
pub(super) fn called_system(facts: &RequestSummary) -> Option<&'static str> {
    let upstream = KnownUpstream::find(&facts.upstream).and_then(|known| known.semantic);
    upstream.or_else(|| facts.provider.semantic_name())
}

/// Returns a method if the conventions know it.
pub(super) fn known_method(method: &str) -> Option<&'static str> {
    const KNOWN: [&str; 10] =
        ["CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "QUERY", "TRACE"];
    KNOWN.into_iter().find(|known| *known == method)
}
