//! A request as it is to be sent on.

use bytes::Bytes;
use http::{HeaderMap, Method};
use url::Url;

/// A request to be sent on.
#[derive(Debug)]
pub struct UpstreamRequest {
    /// The upstream's name, for messages.
    pub upstream: String,
    /// Where it is.
    pub base: Url,
    /// The method.
    pub method: Method,
    /// The raw path behind the base.
    pub path: String,
    /// The raw query, credentials included; empty where there was none.
    pub query: String,
    /// End-to-end headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
}
