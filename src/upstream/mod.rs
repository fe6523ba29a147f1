//! The HTTP client: sends a request to an upstream exactly as it was asked to,
//! and tells how a connection ended.
//!
//! Nothing is decompressed, redirected or retried here: what the upstream said
//! is what the caller gets. Only `record` builds a [`UpstreamClient`]; replay has none.
//! There are two clients in it: hyper's own, where neither TLS nor a proxy is in
//! the way, and reqwest.

mod body;
mod connect;
mod framing;
mod plain_client;
mod target;

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use http::header::{ACCEPT, CONTENT_LENGTH};
use http::{HeaderMap, HeaderValue, Method, Request, Response, Uri, Version};
use hyper_util::client::proxy::matcher::Matcher;
use url::Url;

use connect::{CONNECT_TIMEOUT, ConnectionCounter};
use plain_client::PlainClient;

pub use body::UpstreamBody;
pub use framing::AmbiguousFraming;

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

impl UpstreamError {
    fn unreachable(upstream: &str, base: &Url, detail: String) -> Self {
        let origin = base.origin().ascii_serialization();
        Self::Unreachable { upstream: upstream.to_owned(), origin, detail }
    }
}

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

/// A client with its connection pools.
#[derive(Clone, Debug)]
pub struct UpstreamClient {
    /// With TLS, or through the proxy that the environment names, where it names one.
    away: reqwest::Client,
    /// With TLS, for upstreams on this machine, which no proxy could reach.
    local: reqwest::Client,
    /// With neither.
    near: PlainClient,
    /// The proxies that the environment names.
    proxies: Arc<Matcher>,
    connections: Arc<AtomicU64>,
}

impl UpstreamClient {
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
                .connector_layer(ConnectionCounter { opened: Arc::clone(&connections) })
                .build()
                .map_err(|error| UpstreamError::Setup { detail: chain(&error) })
        };
        let away = build(reqwest::Client::builder())?;
        let local = build(reqwest::Client::builder().no_proxy())?;
        let near = PlainClient::new(Arc::clone(&connections));
        // Read as reqwest reads them.
        let proxies = Arc::new(Matcher::from_system());
        Ok(Self { away, local, near, proxies, connections })
    }

    /// How many connections were opened so far.
    pub fn connections(&self) -> u64 {
        self.connections.load(Ordering::Relaxed)
    }

    /// Sends `forward` and returns as soon as the response's head is there. A response with
    /// [`AmbiguousFraming`] in its extensions has a body that ends in a cut.
    ///
    /// # Errors
    /// [`UpstreamError::Unreachable`] when no response head arrived.
    pub async fn send(
        &self,
        mut forward: UpstreamRequest,
    ) -> Result<Response<UpstreamBody>, UpstreamError> {
        let may_have_body = matches!(forward.method, Method::POST | Method::PUT | Method::PATCH);
        if forward.body.is_empty() && may_have_body {
            // Some servers answer 411 to a method that could have a body and does not say.
            forward.headers.insert(CONTENT_LENGTH, HeaderValue::from_static("0"));
        }
        let (upstream, method) = (forward.upstream.clone(), forward.method.clone());
        let mut response = match self.near_of(&forward)? {
            Some(uri) => self.send_near(uri, forward).await?,
            None => self.send_away(forward).await?,
        };
        if response.status().is_informational() {
            let status = response.status().as_u16();
            return Err(UpstreamError::NoAnswer { upstream, status });
        }
        // The upstream's version is a matter of its connection, not of ours.
        *response.version_mut() = Version::HTTP_11;
        let status = response.status();
        Ok(match framing::settle(&method, status, response.headers_mut()) {
            None => response,
            Some(ambiguous) => {
                response.extensions_mut().insert(ambiguous);
                response.map(UpstreamBody::cut_at_end)
            }
        })
    }

    /// Where `forward` goes, if neither TLS nor a proxy is on the way there.
    fn near_of(&self, forward: &UpstreamRequest) -> Result<Option<Uri>, UpstreamError> {
        if forward.base.scheme() != "http" {
            return Ok(None);
        }
        let uri = target::uri(forward)?;
        let near = target::is_local(&forward.base) || self.proxies.intercept(&uri).is_none();
        Ok(near.then_some(uri))
    }

    async fn send_near(
        &self,
        uri: Uri,
        forward: UpstreamRequest,
    ) -> Result<Response<UpstreamBody>, UpstreamError> {
        let UpstreamRequest { upstream, base, method, mut headers, body, .. } = forward;
        // As reqwest does: the upstream sees the same whichever client it is.
        headers.entry(ACCEPT).or_insert(HeaderValue::from_static("*/*"));
        let mut request = Request::new(body.into());
        *request.method_mut() = method;
        *request.uri_mut() = uri;
        *request.headers_mut() = headers;
        let response = self.near.send(request).await.map_err(|error| {
            let detail = format!("error sending request: {}", chain(&error));
            UpstreamError::unreachable(&upstream, &base, detail)
        })?;
        Ok(response.map(UpstreamBody::near))
    }

    async fn send_away(
        &self,
        forward: UpstreamRequest,
    ) -> Result<Response<UpstreamBody>, UpstreamError> {
        let url = target::url(&forward)?;
        let UpstreamRequest { upstream, base, method, headers, body, .. } = forward;
        let mut request = reqwest::Request::new(method, url);
        *request.headers_mut() = headers;
        if !body.is_empty() {
            *request.body_mut() = Some(body.into());
        }
        let client = if target::is_local(&base) { &self.local } else { &self.away };
        let response = client.execute(request).await.map_err(|error| {
            UpstreamError::unreachable(&upstream, &base, chain(&error.without_url()))
        })?;
        Ok(Response::<reqwest::Body>::from(response).map(UpstreamBody::away))
    }
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
