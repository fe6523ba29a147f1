//! Connections: how they are made without TLS, and how many were.

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::time::timeout;
use tower_layer::Layer;
use tower_service::Service;

/// How long a connection to an upstream may take to be made.
pub(super) const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// How often a connection that is quiet is looked after, as reqwest does it.
const KEEPALIVE: Duration = Duration::from_secs(15);

/// How many looks may go unanswered.
const KEEPALIVE_RETRIES: u32 = 3;

type Boxed<T, E> = Pin<Box<dyn Future<Output = Result<T, E>> + Send>>;

/// Counts the connections that are opened.
#[derive(Clone)]
pub(super) struct ConnectionCounter {
    pub(super) opened: Arc<AtomicU64>,
}

/// A connector under [`ConnectionCounter`].
#[derive(Clone)]
pub(super) struct CountingConnector<S> {
    inner: S,
    opened: Arc<AtomicU64>,
}

impl<S> Layer<S> for ConnectionCounter {
    type Service = CountingConnector<S>;

    fn layer(&self, inner: S) -> CountingConnector<S> {
        CountingConnector { inner, opened: Arc::clone(&self.opened) }
    }
}

impl<S, R> Service<R> for CountingConnector<S>
where
    S: Service<R>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Boxed<S::Response, S::Error>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: R) -> Self::Future {
        let opened = Arc::clone(&self.opened);
        let connecting = self.inner.call(request);
        Box::pin(async move {
            let connection = connecting.await?;
            opened.fetch_add(1, Ordering::Relaxed);
            Ok(connection)
        })
    }
}

/// Makes connections without TLS, set up as reqwest sets up its own.
#[derive(Clone)]
pub(super) struct PlainConnector(HttpConnector);

impl PlainConnector {
    pub(super) fn new() -> Self {
        let mut http = HttpConnector::new();
        http.set_nodelay(true);
        http.set_keepalive(Some(KEEPALIVE));
        http.set_keepalive_interval(Some(KEEPALIVE));
        http.set_keepalive_retries(Some(KEEPALIVE_RETRIES));
        #[cfg(any(target_os = "android", target_os = "fuchsia", target_os = "linux"))]
        http.set_tcp_user_timeout(Some(CONNECT_TIMEOUT));
        Self(http)
    }
}

impl Service<Uri> for PlainConnector {
    type Response = TokioIo<TcpStream>;
    type Error = Box<dyn std::error::Error + Send + Sync>;
    type Future = Boxed<Self::Response, Self::Error>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.0.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, to: Uri) -> Self::Future {
        // The connector's own limit would be shared out among a name's addresses.
        let connecting = self.0.call(to);
        Box::pin(async move {
            let late = |_| io::Error::new(io::ErrorKind::TimedOut, "operation timed out");
            Ok(timeout(CONNECT_TIMEOUT, connecting).await.map_err(late)??)
        })
    }
}
