//! The client for upstreams that are reached without TLS and without a proxy.
//!
//! hyper's own: it does nothing but HTTP, and lets us say how much is read at once.

use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper_util::client::legacy;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use tower_layer::Layer;

use super::connect::{ConnectionCounter, CountingConnector, PlainConnector};

/// Bytes read at once. A transfer chunk that goes past the end of what was read is
/// handed on in two: a burst should fit.
pub(super) const READ_BUFFER: usize = 64 << 10;

/// The client with its pool.
#[derive(Clone, Debug)]
pub(super) struct PlainClient(legacy::Client<CountingConnector<PlainConnector>, Full<Bytes>>);

impl PlainClient {
    /// A client that adds the connections it opens to `opened`.
    pub(super) fn new(opened: Arc<AtomicU64>) -> Self {
        let client = legacy::Client::builder(TokioExecutor::new())
            .timer(TokioTimer::new())
            .pool_timer(TokioTimer::new())
            .http1_read_buf_exact_size(READ_BUFFER)
            .build(ConnectionCounter { opened }.layer(PlainConnector::new()));
        Self(client)
    }

    /// Sends the request. One that was not begun on a pooled connection, since that
    /// had been closed, goes out on another; any other is sent once.
    pub(super) async fn send(
        &self,
        request: Request<Full<Bytes>>,
    ) -> Result<Response<Incoming>, legacy::Error> {
        self.0.request(request).await
    }
}
