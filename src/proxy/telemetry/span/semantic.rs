//! The names that OpenTelemetry's semantic conventions give to providers and methods.

use loomrec_engine::RequestSummary;
use loomrec_provider::KnownUpstream;

/// Whom a call asks: the upstream, where it is one of the conventions', else whose API it
/// speaks.
pub(super) fn system(facts: &RequestSummary) -> Option<&'static str> {
    let upstream = KnownUpstream::find(&facts.upstream).and_then(|known| known.semantic);
    upstream.or_else(|| facts.provider.semantic())
}

/// A method that the conventions know.
pub(super) fn method(method: &str) -> Option<&'static str> {
    const KNOWN: [&str; 10] =
        ["CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "QUERY", "TRACE"];
    KNOWN.into_iter().find(|known| *known == method)
}
