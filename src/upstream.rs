//! The HTTP client: sends a request to an upstream exactly as it was asked to,
//! and tells how a connection ended.
//!
//! Nothing is decompressed, redirected or retried here: what the upstream said
//! is what the caller gets. Only `record` builds a [`Client`]; replay has none.

use std::borrow::Cow;
use std::error::Error;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::header::CONTENT_LENGTH;
use http::{HeaderMap, HeaderValue, Method, Response, Version};
use tower_layer::Layer;
use tower_service::Service;
use url::Url;

use crate::recording::entry::Cut;

pub use reqwest::Body;

/// How long a connection to an upstream may take to be made.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// Why an upstream gave no answer.
#[derive(Debug, thiserror::Error)]
pub enum UpstreamError {
    /// The client could not be built.
    #[error("set up the HTTP client: {detail}")]
    Setup {
        /// What was wrong.
        detail: String,
    },
    /// The path cannot be sent on as it came.
    #[error("forward {path:?} unchanged to {upstream}: {detail}")]
    Path {
        /// The upstream's name.
        upstream: String,
        /// The path as it came.
        path: String,
        /// What was wrong.
        detail: String,
    },
    /// A status that only goes before an answer came in place of one.
    #[error("get an answer from upstream {upstream}: it sent status {status} as its last word")]
    NoAnswer {
        /// The upstream's name.
        upstream: String,
        /// The status.
        status: u16,
    },
    /// The run ended before there was an answer.
    #[error("wait for upstream {upstream}: this run is stopping")]
    Stopped {
        /// The upstream's name.
        upstream: String,
    },
    /// No connection, or no answer on it.
    #[error("reach upstream {upstream} at {origin}: {detail}")]
    Unreachable {
        /// The upstream's name.
        upstream: String,
        /// Scheme, host and port; never the query.
        origin: String,
        /// The reasons, outermost first.
        detail: String,
    },
}

/// A request to be sent on.
#[derive(Debug)]
pub struct Forward {
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

/// A client with its connection pools.
#[derive(Clone, Debug)]
pub struct Client {
    /// Through the proxy that the environment names, where it names one.
    away: reqwest::Client,
    /// For upstreams on this machine, which no proxy could reach.
    local: reqwest::Client,
    connections: Arc<AtomicU64>,
}

impl Client {
    /// Builds the client. TLS roots come from the system (`SSL_CERT_FILE` is honoured).
    ///
    /// # Errors
    /// [`UpstreamError::Setup`] where the system's certificates or proxy settings
    /// cannot be used.
    pub fn new() -> Result<Self, UpstreamError> {
        // One provider for the process, named, since two in one build would make
        // rustls refuse to choose. An error says that it is installed already.
        drop(rustls::crypto::aws_lc_rs::default_provider().install_default());
        let connections = Arc::new(AtomicU64::new(0));
        let build = |builder: reqwest::ClientBuilder| {
            builder
                .redirect(reqwest::redirect::Policy::none())
                .retry(reqwest::retry::never())
                .referer(false)
                .connect_timeout(CONNECT_TIMEOUT)
                .tcp_nodelay(true)
                .http1_only()
                .connector_layer(Count { opened: Arc::clone(&connections) })
                .build()
                .map_err(|error| UpstreamError::Setup { detail: chain(&error) })
        };
        let away = build(reqwest::Client::builder())?;
        let local = build(reqwest::Client::builder().no_proxy())?;
        Ok(Self { away, local, connections })
    }

    /// How many connections were opened so far.
    pub fn connections(&self) -> u64 {
        self.connections.load(Ordering::Relaxed)
    }

    /// Sends `forward` and returns as soon as the response's head is there.
    ///
    /// # Errors
    /// [`UpstreamError::Unreachable`] when no response head arrived.
    pub async fn send(&self, forward: Forward) -> Result<Response<reqwest::Body>, UpstreamError> {
        let url = target(&forward)?;
        let mut request = reqwest::Request::new(forward.method, url);
        *request.headers_mut() = forward.headers;
        let may_have_body = matches!(*request.method(), Method::POST | Method::PUT | Method::PATCH);
        if !forward.body.is_empty() {
            *request.body_mut() = Some(forward.body.into());
        } else if may_have_body {
            // Some servers answer 411 to a method that could have a body and does not say.
            request.headers_mut().insert(CONTENT_LENGTH, HeaderValue::from_static("0"));
        }
        let client = if is_local(request.url()) { &self.local } else { &self.away };
        let response =
            client.execute(request).await.map_err(|error| UpstreamError::Unreachable {
                upstream: forward.upstream.clone(),
                origin: forward.base.origin().ascii_serialization(),
                detail: chain(&error.without_url()),
            })?;
        if response.status().is_informational() {
            let status = response.status().as_u16();
            return Err(UpstreamError::NoAnswer { upstream: forward.upstream, status });
        }
        let mut response: Response<reqwest::Body> = response.into();
        // The upstream's version is a matter of its connection, not of ours.
        *response.version_mut() = Version::HTTP_11;
        Ok(response)
    }
}

/// Whether an address is on this machine.
fn is_local(url: &Url) -> bool {
    match url.host() {
        Some(url::Host::Ipv4(address)) => address.is_loopback(),
        Some(url::Host::Ipv6(address)) => address.is_loopback(),
        Some(url::Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        None => false,
    }
}

/// The full URL, with path and query exactly as they came.
fn target(forward: &Forward) -> Result<Url, UpstreamError> {
    let refused = |detail: String| UpstreamError::Path {
        upstream: forward.upstream.clone(),
        path: forward.path.clone(),
        detail,
    };
    let prefix = forward.base.path().trim_end_matches('/');
    // The base is not read again: its host is most of the work of reading a URL.
    let mut url = forward.base.clone();
    url.set_fragment(None);
    url.set_path(&format!("{prefix}{}", forward.path));
    url.set_query(Some(forward.query.as_str()).filter(|query| !query.is_empty()));
    let segments = |path: &str| path.split('/').count();
    let dots = forward.path.split('/').any(|part| matches!(decoded(part).as_ref(), b"." | b".."));
    if dots || segments(url.path()) != segments(prefix) + segments(&forward.path) - 1 {
        return Err(refused("dot segments in a path would change it on the way".to_owned()));
    }
    Ok(url)
}

/// A path's segment, percent-decoded.
fn decoded(segment: &str) -> Cow<'_, [u8]> {
    percent_encoding::percent_decode_str(segment).into()
}

/// How the connection under a response body was cut.
pub fn cut_of(error: &reqwest::Error) -> Cut {
    let mut source: Option<&(dyn Error + 'static)> = Some(error);
    while let Some(error) = source {
        let kind = error.downcast_ref::<io::Error>().map(io::Error::kind);
        if kind == Some(io::ErrorKind::ConnectionReset) {
            return Cut::Reset;
        }
        source = error.source();
    }
    Cut::Close
}

/// An error and its causes on one line, each said once.
fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let part = cause.to_string();
        if !text.contains(&part) {
            text.push_str(": ");
            text.push_str(&part);
        }
        source = cause.source();
    }
    text
}

/// Counts the connections that are opened.
#[derive(Clone)]
struct Count {
    opened: Arc<AtomicU64>,
}

/// A connector under [`Count`].
#[derive(Clone)]
struct Counted<S> {
    inner: S,
    opened: Arc<AtomicU64>,
}

impl<S> Layer<S> for Count {
    type Service = Counted<S>;

    fn layer(&self, inner: S) -> Counted<S> {
        Counted { inner, opened: Arc::clone(&self.opened) }
    }
}

impl<S, R> Service<R> for Counted<S>
where
    S: Service<R>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, S::Error>> + Send>>;

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
