//! A request that is to be sent to an upstream.

use bytes::Bytes;
use http::{HeaderMap, Method};
use url::{Position, Url};

use super::aws::AwsScope;
use super::socket_address::recorded_origin;
use crate::websocket::turn_link::SocketTurn;
use loomrec_provider::directory;

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
    /// The scope of a signature of AWS that is made again for this address.
    pub aws: Option<Box<AwsScope>>,
    /// The turn over a WebSocket that is sent in the place of the request.
    pub turn: Option<SocketTurn>,
}

impl UpstreamRequest {
    /// Returns the scheme, host and port that it goes to, unless that is the public address of its
    /// upstream.
    pub fn stored_origin(&self) -> Option<String> {
        let has_user = !self.base.username().is_empty() || self.base.password().is_some();
        match has_user {
            false => directory::stored_origin(&self.upstream, &self.base[..Position::BeforePath]),
            true => directory::stored_origin(&self.upstream, &recorded_origin(&self.base)),
        }
    }
}
