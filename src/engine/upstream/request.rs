//! A request that is to be sent to an upstream.

use bytes::Bytes;
use http::{HeaderMap, Method};
use url::Url;

/// A request that is to be sent to an upstream.
#[derive(Debug)]
pub struct UpstreamRequest {
    /// The upstream's name, for messages.
    pub upstream: String,
    /// The upstream's address.
    pub base: Url,
    /// The method.
    pub method: Method,
    /// The raw path after the base.
    pub path: String,
    /// The raw query, credentials included; empty if there was none.
    pub query: String,
    /// End-to-end headers.
    pub headers: HeaderMap,
    /// The body.
    pub body: Bytes,
}
